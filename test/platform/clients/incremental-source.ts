/** A client of the public API as the documentation describes it: an address, a key, and nothing of ours. */
export type Api = { readonly baseUrl: string; readonly key: string }

export type Entry = { readonly id: number; readonly createdAt: string; readonly updatedAt: string } & Readonly<
  Record<string, unknown>
>

type Page = { readonly data: readonly Entry[]; readonly pagination: { readonly cursor?: string | null } }

type Stream = {
  readonly path: string
  readonly size: number
  /** What orders the entries, and what the bookmark compares. */
  readonly by: 'createdAt' | 'updatedAt'
  /** The newest time of the reading before; null: everything. */
  readonly bookmark: string | null
  /** Runs after each page, as other programs do meanwhile. */
  readonly onPage?: (number: number) => Promise<void>
}

/** Sends one request with the key, and fails unless it succeeds. */
export async function call({ baseUrl, key }: Api, path: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(baseUrl + path, {
    ...init,
    headers: { authorization: `Bearer ${key}`, ...init.headers },
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path} was answered with ${response.status}: ${text}`)
  return text === '' ? null : JSON.parse(text)
}

/**
 * What is new in a list since the bookmark, by id: it walks from the newest entry back to the bookmark, since the API filters no list by
 * time. The bookmark itself is read again, because several entries can have one time.
 */
export async function readNew(api: Api, { path, size, by, bookmark, onPage }: Stream) {
  const entries = new Map<number, Entry>()
  let [pages, cursor]: [number, string | null | undefined] = [0, undefined]
  do {
    const query = new URLSearchParams({ size: String(size), sort: by, sortDir: 'DESC', ...(cursor && { cursor }) })
    const page = (await call(api, `${path}?${query}`)) as Page
    pages += 1
    await onPage?.(pages)
    for (const entry of page.data) if (bookmark === null || entry[by] >= bookmark) entries.set(entry.id, entry)
    const isBehind = bookmark !== null && page.data.some((entry) => entry[by] < bookmark)
    cursor = isBehind ? null : page.pagination.cursor
  } while (cursor)
  const newest = [...entries.values()].map((entry) => entry[by]).sort()
  return { entries, pages, bookmark: newest.at(-1) ?? bookmark }
}
