import { tokenField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { pagePrefix } from './query.ts'

/** The form that opens a session. `trouble` says why the last attempt did not. */
export function signInForm({
  formToken,
  name = '',
  trouble = null,
}: {
  readonly formToken: string
  readonly name?: string
  readonly trouble?: string | null
}): Html {
  return html`<div class="card narrow">
<h1>Sign in to Personnel</h1>
${trouble && html`<p class="notice bad" role="alert" id="trouble">${trouble}</p>`}
<form class="stack" method="post" action="${pagePrefix}/sign-in">
${tokenField(formToken)}
<div class="field">
<label for="name">Name</label>
<input id="name" name="name" value="${name}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="100" required ${trouble ? html`aria-describedby="trouble"` : html`autofocus`}>
</div>
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1000" required ${trouble && html`aria-describedby="trouble" autofocus`}>
</div>
<button class="main">Sign in</button>
</form>
<p class="hint">The operator of this platform gives names and passwords: <code>rollcall platform operators create</code>.</p>
</div>`
}
