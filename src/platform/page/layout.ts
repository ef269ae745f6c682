import type { FastifyReply } from 'fastify'
import { tokenField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { type Frame, page } from '../../web/layout.ts'
import { pagePrefix } from './query.ts'
import type { Visit } from './visits.ts'

/** Sends an HTML document; `visit` is null if the visitor is not signed in. */
export type Send = (
  reply: FastifyReply,
  document: { readonly title: string; readonly content: Html },
  visit: Visit | null,
) => FastifyReply

type Visitor = { readonly name: string; readonly formToken: string }
type Layout = Pick<Frame, 'title' | 'content' | 'assets'> & { readonly visitor: Visitor | null }

/** A complete HTML document. `visitor`: the signed-in operator and their form token; null if signed out. */
export function layout({ visitor, ...frame }: Layout): Html {
  return page({ ...frame, home: pagePrefix, aside: visitor && signOut(visitor) })
}

function signOut({ name, formToken }: Visitor): Html {
  return html`<form class="visitor" method="post" action="${pagePrefix}/sign-out">
${tokenField(formToken)}
<span>Signed in as <strong>${name}</strong></span>
<button class="quiet">Sign out</button>
</form>`
}
