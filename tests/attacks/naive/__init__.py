"""An in-process harness of the kind that is fooled: what each attack must first succeed against."""
