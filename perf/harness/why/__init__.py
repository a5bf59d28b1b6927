"""Why a case takes as long as it does, and what to use where: derived from what a session measured, never guessed."""
