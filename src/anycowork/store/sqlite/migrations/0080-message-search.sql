-- The full-text index over what people and agents wrote. It holds no copy of the text: a row's id is the position of the message's record.
-- Calls and the output of tools are not indexed. `store/sqlite/message_search.py` keeps it, in the transaction of each change.
CREATE VIRTUAL TABLE message_search USING fts5(content, content='', tokenize="unicode61 remove_diacritics 2");

INSERT INTO message_search (rowid, content)
  SELECT position, json_extract(CAST(body AS TEXT), '$.message.content') FROM records
  WHERE type = 'message'
    AND json_extract(CAST(body AS TEXT), '$.message.message_type') NOT IN ('tool_call', 'tool_result')
  ORDER BY position;
