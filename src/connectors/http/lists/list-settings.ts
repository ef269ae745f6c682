import type { ConfiguredJson } from '../client/secrets.ts'
import type { PageSettings } from '../settings/page-rule.ts'
import type { HttpSource } from '../settings/settings.ts'

/** The settings of one list: that of a source, or a further one of the same system. */
export type ListSettings = PageSettings &
  Pick<HttpSource, 'url' | 'method' | 'records' | 'ignoredStatements' | 'maxPages' | 'maxPageBytes'> & {
    readonly body?: ConfiguredJson
    /** Where `body` is below the settings of the source, such as join.0.body. Its secrets are found there. */
    readonly at: string
    /** A pointer into the first page, to the time at which the list was true. */
    readonly timePointer?: string
  }
