"""The lab's server: takes SGLang's flags, starts, logs, dies and answers as it does, with no model behind it."""
