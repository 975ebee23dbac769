-- A text of 20,000 characters can take 80,000 bytes. A TEXT holds 65,535.
ALTER TABLE articles MODIFY body MEDIUMTEXT NOT NULL;
