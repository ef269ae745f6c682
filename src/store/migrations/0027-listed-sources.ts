import type { Migration } from '../../database/database.ts'

export const listedSources: Migration = {
  name: '0027-listed-sources',
  sql: `
-- When the source was last seen to list what was decided about: until it no longer does, it could be read again. Of what stands here
-- already that is not known.
alter table taken_sources add column listed_at timestamptz;
update taken_sources set listed_at = now();
`,
}
