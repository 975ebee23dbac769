DROP TRIGGER IF EXISTS "bench_count_post_votes_truncate" ON "public"."bench_forum_post_votes";
DROP TRIGGER IF EXISTS "bench_count_post_votes_delete" ON "public"."bench_forum_post_votes";
DROP TRIGGER IF EXISTS "bench_count_post_votes_update" ON "public"."bench_forum_post_votes";
DROP TRIGGER IF EXISTS "bench_count_post_votes_insert" ON "public"."bench_forum_post_votes";
DROP FUNCTION IF EXISTS "public"."bench_count_post_votes_insert"(), "public"."bench_count_post_votes_update"(),
    "public"."bench_count_post_votes_delete"(), "public"."bench_count_post_votes_truncate"();
DROP TRIGGER IF EXISTS "bench_count_comment_votes_truncate" ON "public"."bench_forum_comment_votes";
DROP TRIGGER IF EXISTS "bench_count_comment_votes_delete" ON "public"."bench_forum_comment_votes";
DROP TRIGGER IF EXISTS "bench_count_comment_votes_update" ON "public"."bench_forum_comment_votes";
DROP TRIGGER IF EXISTS "bench_count_comment_votes_insert" ON "public"."bench_forum_comment_votes";
DROP FUNCTION IF EXISTS "public"."bench_count_comment_votes_insert"(), "public"."bench_count_comment_votes_update"(),
    "public"."bench_count_comment_votes_delete"(), "public"."bench_count_comment_votes_truncate"();
DROP TRIGGER IF EXISTS "bench_count_comments_by_post_truncate" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_post_delete" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_post_update" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_post_insert" ON "public"."bench_forum_comments";
DROP FUNCTION IF EXISTS "public"."bench_count_comments_by_post_insert"(),
    "public"."bench_count_comments_by_post_update"(), "public"."bench_count_comments_by_post_delete"(),
    "public"."bench_count_comments_by_post_truncate"();
DROP TRIGGER IF EXISTS "bench_count_comments_by_score_truncate" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_score_delete" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_score_update" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_score_insert" ON "public"."bench_forum_comments";
DROP FUNCTION IF EXISTS "public"."bench_count_comments_by_score_insert"(),
    "public"."bench_count_comments_by_score_update"(), "public"."bench_count_comments_by_score_delete"(),
    "public"."bench_count_comments_by_score_truncate"();
DROP TRIGGER IF EXISTS "bench_count_comments_by_site_truncate" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_site_delete" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_site_update" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_by_site_insert" ON "public"."bench_forum_comments";
DROP FUNCTION IF EXISTS "public"."bench_count_comments_by_site_insert"(),
    "public"."bench_count_comments_by_site_update"(), "public"."bench_count_comments_by_site_delete"(),
    "public"."bench_count_comments_by_site_truncate"();
DROP TRIGGER IF EXISTS "bench_count_posts_by_community_truncate" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_community_delete" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_community_update" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_community_insert" ON "public"."bench_forum_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_posts_by_community_insert"(),
    "public"."bench_count_posts_by_community_update"(), "public"."bench_count_posts_by_community_delete"(),
    "public"."bench_count_posts_by_community_truncate"();
DROP TRIGGER IF EXISTS "bench_count_posts_by_comments_truncate" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_comments_delete" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_comments_update" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_comments_insert" ON "public"."bench_forum_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_posts_by_comments_insert"(),
    "public"."bench_count_posts_by_comments_update"(), "public"."bench_count_posts_by_comments_delete"(),
    "public"."bench_count_posts_by_comments_truncate"();
DROP TRIGGER IF EXISTS "bench_count_posts_by_person_truncate" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_person_delete" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_person_update" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_person_insert" ON "public"."bench_forum_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_posts_by_person_insert"(),
    "public"."bench_count_posts_by_person_update"(), "public"."bench_count_posts_by_person_delete"(),
    "public"."bench_count_posts_by_person_truncate"();
DROP TRIGGER IF EXISTS "bench_count_posts_by_score_truncate" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_score_delete" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_score_update" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_score_insert" ON "public"."bench_forum_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_posts_by_score_insert"(), "public"."bench_count_posts_by_score_update"(),
    "public"."bench_count_posts_by_score_delete"(), "public"."bench_count_posts_by_score_truncate"();
DROP TRIGGER IF EXISTS "bench_count_posts_by_site_truncate" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_site_delete" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_site_update" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_by_site_insert" ON "public"."bench_forum_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_posts_by_site_insert"(), "public"."bench_count_posts_by_site_update"(),
    "public"."bench_count_posts_by_site_delete"(), "public"."bench_count_posts_by_site_truncate"();
