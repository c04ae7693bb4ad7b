"""The front desk: send, switch role, decide, answer, approve, stop. One running turn per chat; what a crash left is settled here."""
