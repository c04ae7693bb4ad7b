"""What tests share: the real parts started small, and the scripted model that speaks over HTTP."""
