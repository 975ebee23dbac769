DROP FUNCTION IF EXISTS bench_forum_vote_on_post() CASCADE;
DROP FUNCTION IF EXISTS bench_forum_vote_on_comment() CASCADE;
DROP FUNCTION IF EXISTS bench_forum_post() CASCADE;
DROP FUNCTION IF EXISTS bench_forum_comment() CASCADE;
