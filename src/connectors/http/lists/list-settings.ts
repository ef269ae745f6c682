import type { ConfiguredJson } from '../client/secrets.ts'
import type { PageSettings } from '../settings/page-rule.ts'
import type { HttpSource } from '../settings/settings.ts'

/** The settings of one list: that of a source, or a further one of the same system. */
export type ListSettings = PageSettings &
  Pick<HttpSource, 'url' | 'method' | 'records' | 'ignoredStatements' | 'maxPages' | 'maxPageBytes'> & {
    readonly body?: ConfiguredJson
    /** Where `body` is below the settings of the source, such as join.0.body. Its secrets are found there. */
    readonly at: string
    /** A pointer to the as-of time of the list, in its first page. */
    readonly timePointer?: string
  }
