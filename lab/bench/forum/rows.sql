-- The people vote, and the first 100 of them write. The program knows who has written a post or a comment by
-- its id, and so the community of a post.
INSERT INTO bench_forum_site (id) VALUES (1);
INSERT INTO bench_forum_communities (id) VALUES (1), (2), (3), (4), (5);
INSERT INTO bench_forum_people (id)
    WITH RECURSIVE people (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM people WHERE id < 500) SELECT id FROM people;
INSERT INTO bench_forum_people (id)
    SELECT one.id + 500 * other.id FROM bench_forum_people AS one JOIN bench_forum_people AS other ON other.id < 96;
INSERT INTO bench_forum_posts (id, community_id, creator_id)
    SELECT id, id % 5 + 1, id % 100 + 1 FROM bench_forum_people WHERE id <= 340;
INSERT INTO bench_forum_comments (id, post_id, community_id, creator_id)
    SELECT id, id % 5 + 1, (id % 5 + 1) % 5 + 1, id % 100 + 1 FROM bench_forum_people WHERE id <= 16700;
