"""Why a correct candidate is as fast as it is: counted bytes and measured times against the machine's ceilings."""
