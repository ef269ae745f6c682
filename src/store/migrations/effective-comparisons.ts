import type { Migration } from '../../database/database.ts'

/** Names comparisons of everyone as they are called everywhere else. */
export const effectiveComparisons: Migration = {
  name: '0002-effective-comparisons',
  sql: `
alter table effective_walks rename to effective_comparisons;
alter table effective_comparisons rename constraint effective_walks_pkey to effective_comparisons_pkey;
alter table effective_comparisons rename column walked_at to compared_at;
alter table effective_comparisons rename column walks to number;
`,
}
