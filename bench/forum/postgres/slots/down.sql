DROP TRIGGER IF EXISTS bench_count_comment_votes_truncate ON bench_forum_comment_votes;
DROP TRIGGER IF EXISTS bench_count_comment_votes_delete ON bench_forum_comment_votes;
DROP TRIGGER IF EXISTS bench_count_comment_votes_update ON bench_forum_comment_votes;
DROP TRIGGER IF EXISTS bench_count_comment_votes_insert ON bench_forum_comment_votes;
DROP FUNCTION IF EXISTS bench_count_comment_votes_truncate(), bench_count_comment_votes_delete(),
    bench_count_comment_votes_update(), bench_count_comment_votes_insert();
DROP TRIGGER IF EXISTS bench_count_post_votes_truncate ON bench_forum_post_votes;
DROP TRIGGER IF EXISTS bench_count_post_votes_delete ON bench_forum_post_votes;
DROP TRIGGER IF EXISTS bench_count_post_votes_update ON bench_forum_post_votes;
DROP TRIGGER IF EXISTS bench_count_post_votes_insert ON bench_forum_post_votes;
DROP FUNCTION IF EXISTS bench_count_post_votes_truncate(), bench_count_post_votes_delete(), bench_count_post_votes_update(),
    bench_count_post_votes_insert();
DROP TRIGGER IF EXISTS bench_count_comments_truncate ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_delete ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_update ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_insert ON bench_forum_comments;
DROP FUNCTION IF EXISTS bench_count_comments_truncate(), bench_count_comments_delete(), bench_count_comments_update(),
    bench_count_comments_insert();
DROP TRIGGER IF EXISTS bench_count_site_comments_truncate ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_site_comments_delete ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_site_comments_update ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_site_comments_insert ON bench_forum_comments;
DROP FUNCTION IF EXISTS bench_count_site_comments_truncate(), bench_count_site_comments_delete(),
    bench_count_site_comments_update(), bench_count_site_comments_insert();
DROP TRIGGER IF EXISTS bench_count_posts_truncate ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_delete ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_update ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_insert ON bench_forum_posts;
DROP FUNCTION IF EXISTS bench_count_posts_truncate(), bench_count_posts_delete(), bench_count_posts_update(),
    bench_count_posts_insert();
DROP TRIGGER IF EXISTS bench_count_site_posts_truncate ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_site_posts_delete ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_site_posts_update ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_site_posts_insert ON bench_forum_posts;
DROP FUNCTION IF EXISTS bench_count_site_posts_truncate(), bench_count_site_posts_delete(), bench_count_site_posts_update(),
    bench_count_site_posts_insert();
