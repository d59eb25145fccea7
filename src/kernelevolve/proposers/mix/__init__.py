"""Several proposers as one: a bandit that weighs what each brought against what it cost."""
