import type { Pages } from './pages.ts'

/** The settings of the pages of a list, in either form. */
export type PageSettings = {
  readonly pages?: 'single' | Pages
  readonly next?: string
  readonly nextParameter?: string
}

/** The rule for the pages of a list. `undeclared`: nothing is configured, so only a list that is certainly one page is accepted. */
export type PageRule =
  | Pages
  | { readonly by: 'undeclared'; readonly more?: undefined; readonly total?: undefined; readonly key?: undefined }

/**
 * The rule that the settings describe. `next` and `nextParameter` are the short form of `by: next` and `by: cursor`, which allows uneven
 * pages.
 */
export function pageRule({ pages, next, nextParameter }: PageSettings): PageRule {
  if (typeof pages === 'object') return pages
  if (next === undefined) return pages === 'single' ? { by: 'single' } : { by: 'undeclared' }
  const allowed = { allowSingle: pages === 'single', allowUneven: true }
  return nextParameter === undefined
    ? { by: 'next', next, ...allowed }
    : { by: 'cursor', next, parameter: nextParameter, in: 'query', ...allowed }
}
