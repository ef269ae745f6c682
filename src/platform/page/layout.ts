import type { FastifyReply } from 'fastify'
import { type Html, html, type Shown } from '../../web/html.ts'
import { pagePrefix } from './query.ts'
import type { Visit } from './visits.ts'

export type Frame = {
  readonly title: string
  readonly content: Html
  /** Who is signed in, with what a form of theirs carries; null: no one. */
  readonly visitor: { readonly name: string; readonly formToken: string } | null
  /** The style sheet's address. */
  readonly style: string
}

/** Sends a document of the page; `visit` is null if the visitor is not signed in. */
export type Send = (reply: FastifyReply, what: Pick<Frame, 'title' | 'content'>, visit: Visit | null) => FastifyReply

/** A whole document of the page. */
export function layout({ title, content, visitor, style }: Frame): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Rollcall</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${style}">
<link rel="icon" type="image/svg+xml" href="${pagePrefix}/icon.svg">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<div class="inner">
<a class="brand" href="${pagePrefix}"><img src="${pagePrefix}/icon.svg" alt="" width="28" height="28">Rollcall</a>
${visitor && signOut(visitor)}
</div>
</header>
<main id="content" tabindex="-1" class="inner">
${content}
</main>
</body>
</html>
`
}

/** What just happened. It gets the focus, so that screen readers read it after the page was loaded again. */
export function notice(text: Shown, kind: 'good' | 'bad' = 'good'): Html {
  return html`<p class="notice ${kind}" role="${kind === 'good' ? 'status' : 'alert'}" tabindex="-1" autofocus>${text}</p>`
}

/** The field that shows that a form came from a page of ours. */
export function tokenField(formToken: string): Html {
  return html`<input type="hidden" name="token" value="${formToken}">`
}

export function problem(message: string): Html {
  return html`<div class="card narrow">
<h1>That did not work</h1>
<p role="alert">${message}</p>
<p><a href="${pagePrefix}">Back to Personnel</a></p>
</div>`
}

function signOut({ name, formToken }: NonNullable<Frame['visitor']>): Html {
  return html`<form class="visitor" method="post" action="${pagePrefix}/sign-out">
${tokenField(formToken)}
<span>Signed in as <strong>${name}</strong></span>
<button class="quiet">Sign out</button>
</form>`
}
