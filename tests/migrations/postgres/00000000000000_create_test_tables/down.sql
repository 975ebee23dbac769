DROP TABLE site_counters;
DROP TABLE "odd `""name";
DROP TABLE file_counters;
DROP TABLE page_counters;
DROP TABLE user_counters;
DROP TABLE comments;
DROP TABLE articles;
