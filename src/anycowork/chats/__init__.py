"""Services for people's requests: send, switch role, decide, answer, approve, stop. One running turn per chat; recovery after a crash."""
