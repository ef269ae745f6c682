/** One link with its parameters, and what separates it from the following one. */
const link = /[\s,]*<([^>]*)>((?:\s*;\s*(?:[^\s=;,"<>]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]*))?)?)*)\s*(?:,\s*|$)/y
const parameter = /;\s*([^\s=;,"<>]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/g

/** The addresses with the relation `next` in the header Link (RFC 8288), of which a response may have several. Null if it is malformed. */
export function nextLinks(header: string | readonly string[] | undefined): readonly string[] | null {
  const text = [header ?? []].flat().join(', ').trim()
  const addresses: string[] = []
  for (let at = 0; at < text.length; at = link.lastIndex) {
    link.lastIndex = at
    const [, address = '', parameters = ''] = link.exec(text) ?? []
    if (link.lastIndex === 0) return null
    if (relationsOf(parameters).includes('next')) addresses.push(address)
  }
  return addresses
}

/** The relations of a link. Of several parameters rel, the first one applies. */
function relationsOf(parameters: string): readonly string[] {
  const rel = [...parameters.matchAll(parameter)].find(([, name = '']) => name.toLowerCase() === 'rel')
  const [, , quoted, bare] = rel ?? []
  const text = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? ''
  return text.toLowerCase().split(/\s+/)
}
