DROP TRIGGER IF EXISTS bench_count_post_votes_truncate ON bench_forum_post_votes;
DROP TRIGGER IF EXISTS bench_count_post_votes_delete ON bench_forum_post_votes;
DROP TRIGGER IF EXISTS bench_count_post_votes_update ON bench_forum_post_votes;
DROP TRIGGER IF EXISTS bench_count_post_votes_insert ON bench_forum_post_votes;
DROP FUNCTION IF EXISTS bench_count_post_votes_truncate(), bench_count_post_votes_delete(), bench_count_post_votes_update(),
    bench_count_post_votes_insert();
DROP TRIGGER IF EXISTS bench_count_comment_votes_truncate ON bench_forum_comment_votes;
DROP TRIGGER IF EXISTS bench_count_comment_votes_delete ON bench_forum_comment_votes;
DROP TRIGGER IF EXISTS bench_count_comment_votes_update ON bench_forum_comment_votes;
DROP TRIGGER IF EXISTS bench_count_comment_votes_insert ON bench_forum_comment_votes;
DROP FUNCTION IF EXISTS bench_count_comment_votes_truncate(), bench_count_comment_votes_delete(),
    bench_count_comment_votes_update(), bench_count_comment_votes_insert();
DROP TRIGGER IF EXISTS bench_count_comments_by_post_truncate ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_post_delete ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_post_update ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_post_insert ON bench_forum_comments;
DROP FUNCTION IF EXISTS bench_count_comments_by_post_truncate(), bench_count_comments_by_post_delete(),
    bench_count_comments_by_post_update(), bench_count_comments_by_post_insert();
DROP TRIGGER IF EXISTS bench_count_comments_by_score_truncate ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_score_delete ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_score_update ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_score_insert ON bench_forum_comments;
DROP FUNCTION IF EXISTS bench_count_comments_by_score_truncate(), bench_count_comments_by_score_delete(),
    bench_count_comments_by_score_update(), bench_count_comments_by_score_insert();
DROP TRIGGER IF EXISTS bench_count_comments_by_site_truncate ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_site_delete ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_site_update ON bench_forum_comments;
DROP TRIGGER IF EXISTS bench_count_comments_by_site_insert ON bench_forum_comments;
DROP FUNCTION IF EXISTS bench_count_comments_by_site_truncate(), bench_count_comments_by_site_delete(),
    bench_count_comments_by_site_update(), bench_count_comments_by_site_insert();
DROP TRIGGER IF EXISTS bench_count_posts_by_community_truncate ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_community_delete ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_community_update ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_community_insert ON bench_forum_posts;
DROP FUNCTION IF EXISTS bench_count_posts_by_community_truncate(), bench_count_posts_by_community_delete(),
    bench_count_posts_by_community_update(), bench_count_posts_by_community_insert();
DROP TRIGGER IF EXISTS bench_count_posts_by_comments_truncate ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_comments_delete ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_comments_update ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_comments_insert ON bench_forum_posts;
DROP FUNCTION IF EXISTS bench_count_posts_by_comments_truncate(), bench_count_posts_by_comments_delete(),
    bench_count_posts_by_comments_update(), bench_count_posts_by_comments_insert();
DROP TRIGGER IF EXISTS bench_count_posts_by_person_truncate ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_person_delete ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_person_update ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_person_insert ON bench_forum_posts;
DROP FUNCTION IF EXISTS bench_count_posts_by_person_truncate(), bench_count_posts_by_person_delete(),
    bench_count_posts_by_person_update(), bench_count_posts_by_person_insert();
DROP TRIGGER IF EXISTS bench_count_posts_by_score_truncate ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_score_delete ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_score_update ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_score_insert ON bench_forum_posts;
DROP FUNCTION IF EXISTS bench_count_posts_by_score_truncate(), bench_count_posts_by_score_delete(),
    bench_count_posts_by_score_update(), bench_count_posts_by_score_insert();
DROP TRIGGER IF EXISTS bench_count_posts_by_site_truncate ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_site_delete ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_site_update ON bench_forum_posts;
DROP TRIGGER IF EXISTS bench_count_posts_by_site_insert ON bench_forum_posts;
DROP FUNCTION IF EXISTS bench_count_posts_by_site_truncate(), bench_count_posts_by_site_delete(),
    bench_count_posts_by_site_update(), bench_count_posts_by_site_insert();
