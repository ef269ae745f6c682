import type { ConnectorContext } from '../../connector.ts'

const maxLabelCharacters = 200
const maxNameCharacters = 100

type LabelContext = Pick<ConnectorContext, 'written'>

/** An address of the settings, and its path below the source, such as `login.url`. */
type ConfiguredAddress = { readonly at: string; readonly url: URL }

/**
 * An address for messages, without its query. If the configuration builds it from references such as `${HOST}`, the references are shown
 * unresolved, because a part of the address may be a secret.
 */
export function addressLabel(context: LabelContext, { at, url }: ConfiguredAddress): string {
  return templateLabel(context, { at, url: `${url.origin}${url.pathname}` })
}

/** The same for a template that holds names of columns in place of their values. */
export function templateLabel(
  { written }: LabelContext,
  { at, url }: { readonly at: string; readonly url: string },
): string {
  return withoutQuery(written?.(at) ?? url).slice(0, maxLabelCharacters)
}

/** The names of a list: its address without the scheme, and the last part of that for its rows. */
export function listNames(label: string): { readonly name: string; readonly fileName: string } {
  const name = label.replace(/^https?:\/\//, '').replace(/\/+$/, '')
  const parts = name.match(/(?:\$\{[^}]*\}|[^/])+/g) ?? [name]
  const [host = name, last = host] = [parts[0], parts.at(-1)]
  const isShort = name.length <= maxNameCharacters
  return {
    name: isShort ? name : `${host}/…/${last}`.slice(0, maxNameCharacters),
    fileName: last.slice(0, maxNameCharacters),
  }
}

/** The text up to the query, also where a reference holds a question mark, and without a user name. */
function withoutQuery(text: string): string {
  const [address = ''] = /^(?:\$\{[^}]*\}|[^?#])*/.exec(text) ?? []
  return address.replace(/^(https?:\/\/)[^/@]*@/, '$1')
}
