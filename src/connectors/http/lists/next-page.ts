import { unreadable } from '../../file/failures.ts'
import { pointer } from '../../json/cells.ts'
import type { ListPage } from './list-page.ts'
import type { ListSettings } from './list-settings.ts'

const maxAddressCharacters = 2000

/** The address of the page that follows this one, as the settings say where it is named; null if the page names none. */
export function nextPageAddress({ url: firstUrl, next, nextParameter }: ListSettings, page: ListPage): URL | null {
  const { content, url, label } = page
  const stated = next === undefined ? null : pointer(content, next)
  if (stated === undefined || stated === null || stated === '' || stated === false) return null
  if (typeof stated !== 'string' || stated.length > maxAddressCharacters)
    throw unreadable(`${label} holds no address and no token at ${next}`, 'check next')
  if (nextParameter !== undefined) return withParameter(firstUrl, nextParameter, stated)
  const address = URL.parse(stated, url)
  if (address) return address
  throw unreadable(`${label} holds no address at ${next}`, 'check next; a token needs nextParameter')
}

function withParameter(firstUrl: string, name: string, token: string): URL {
  const address = new URL(firstUrl)
  const pair = `${encodeURIComponent(name)}=${encodeURIComponent(token)}`
  address.search = address.search === '' ? pair : `${address.search}&${pair}`
  return address
}
