import { Failure } from '../../errors.ts'
import { selectField, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import type { Fields, Site } from '../site/site.ts'
import { firstVisitHref } from '../site/words.ts'
import { uploadHref } from './first-visit-answers.ts'

const addressesHref = `${firstVisitHref}/address`
const signIns = ['bearer', 'basic', 'apiKey', 'nothing'] as const
type SignInKind = (typeof signIns)[number]

const signInNames: Readonly<Record<SignInKind, string>> = {
  bearer: 'a token (bearer)',
  basic: 'a user name and a password',
  apiKey: 'a key in a header',
  nothing: 'no sign-in',
}

/** The card of the first page that leads to the form for an address. */
export function addressCard(): Html {
  const options = signIns.map((value) => ({ value, name: signInNames[value] }))
  return card({
    title: 'Read a list at an address',
    id: 'address',
    content: html`<form class="stack" method="get" action="${addressesHref}">
<p>For other systems: Rollcall finds the people, the pages and the columns in the JSON or CSV at an address.</p>
${selectField({ name: 'signIn', label: 'How Rollcall signs in there', options, value: null, required: true })}
<div class="row"><button class="main">Enter the address</button></div>
</form>`,
  })
}

/** Adds the pages on which an admin gives the address of a list. */
export function addressPages(site: Site): void {
  site.page(addressesHref, async (_context, fields) => ({ to: `${addressesHref}/${kindIn(fields)}` }))

  site.action(`${addressesHref}/:signIn`, {
    section: 'overview',
    operation: 'readAddress',
    ask: async (_context, fields) => ({
      title: 'A list at an address',
      explanation: html`<p>Rollcall requests the address, finds the list in the response, and checks whether it has more pages. Nothing is stored before the last step.</p>`,
      fields: addressFields(kindIn(fields), fields),
      button: 'Read the list and show it',
      cancel: firstVisitHref,
    }),
    perform: async ({ control }, fields) => {
      const records = fields('records')
      const { id } = await control.readAddress({
        body: { url: fields('url'), signIn: signInFrom(fields), ...(records !== '' && { records }) },
      })
      return { to: uploadHref(id), done: 'The list was found.' }
    },
  })
}

function kindIn(fields: Fields): SignInKind {
  const kind = signIns.find((one) => one === fields('signIn'))
  if (kind === undefined) throw new Failure('not_found', 'there is no such way to sign in')
  return kind
}

function addressFields(kind: SignInKind, fields: Fields): Renderable {
  return html`${textField({ name: 'url', label: 'Address of the list', value: fields('url'), required: true, maxLength: 2000, hint: 'Such as https://hr.example.com/v1/employees?status=all. It should also list people who have left.' })}
${credentialFields(kind, fields)}
<details><summary>Path of the list in the response</summary>
${textField({ name: 'records', label: 'Path of the list', value: fields('records'), maxLength: 200, hint: 'As a JSON pointer, such as /data/employees. Without it, Rollcall takes the longest list.' })}
</details>`
}

/** Secrets are not repeated by a page. */
function credentialFields(kind: SignInKind, fields: Fields): Renderable {
  const secret = (name: string, label: string) =>
    textField({ name, label, type: 'password', required: true, maxLength: 20_000 })
  switch (kind) {
    case 'nothing':
      return null
    case 'bearer':
      return secret('secret', 'Token')
    case 'basic':
      return html`${textField({ name: 'username', label: 'User name', value: fields('username'), required: true, maxLength: 200 })}
${secret('secret', 'Password')}`
    case 'apiKey':
      return html`${textField({ name: 'header', label: 'Name of the header', value: fields('header'), required: true, maxLength: 200, hint: 'Such as X-Api-Key.' })}
${secret('secret', 'Key')}`
    default:
      return kind satisfies never
  }
}

function signInFrom(fields: Fields) {
  const kind = kindIn(fields)
  const secret = fields('secret')
  switch (kind) {
    case 'nothing':
      return { with: kind }
    case 'bearer':
      return { with: kind, token: secret }
    case 'basic':
      return { with: kind, username: fields('username'), password: secret }
    case 'apiKey':
      return { with: kind, header: fields('header'), value: secret }
    default:
      return kind satisfies never
  }
}
