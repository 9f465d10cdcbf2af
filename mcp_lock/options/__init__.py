"""The options that commands share: what each group reads, how it looks on a command line, and how a command gets it."""
