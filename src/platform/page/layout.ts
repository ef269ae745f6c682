import type { FastifyReply } from 'fastify'
import { tokenField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { type Frame, page } from '../../web/layout.ts'
import { pagePrefix } from './query.ts'
import type { Visit } from './visits.ts'

/** Sends a document of the page; `visit` is null if the visitor is not signed in. */
export type Send = (
  reply: FastifyReply,
  what: { readonly title: string; readonly content: Html },
  visit: Visit | null,
) => FastifyReply

/** A whole document of the page. `visitor`: who is signed in, with what a form of theirs carries; null: no one. */
export function layout({
  visitor,
  ...frame
}: Pick<Frame, 'title' | 'content' | 'assets'> & {
  readonly visitor: { readonly name: string; readonly formToken: string } | null
}): Html {
  return page({ ...frame, home: pagePrefix, aside: visitor && signOut(visitor) })
}

function signOut({ name, formToken }: { readonly name: string; readonly formToken: string }): Html {
  return html`<form class="visitor" method="post" action="${pagePrefix}/sign-out">
${tokenField(formToken)}
<span>Signed in as <strong>${name}</strong></span>
<button class="quiet">Sign out</button>
</form>`
}
