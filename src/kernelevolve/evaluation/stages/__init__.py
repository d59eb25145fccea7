"""inspect -> build -> check -> measure: each raises CandidateFault at the first thing that is wrong."""
