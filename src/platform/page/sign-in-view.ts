import { tokenField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { pagePrefix } from './query.ts'

type SignInForm = {
  readonly formToken: string
  readonly name?: string
  /** Why the last attempt failed. */
  readonly problem?: string | null
}

/** The sign-in form. */
export function signInForm({ formToken, name = '', problem = null }: SignInForm): Html {
  return html`<div class="card narrow">
<h1>Sign in to Personnel</h1>
${problem && html`<p class="notice bad" role="alert" id="problem">${problem}</p>`}
<form class="stack" method="post" action="${pagePrefix}/sign-in">
${tokenField(formToken)}
<div class="field">
<label for="name">Name</label>
<input id="name" name="name" value="${name}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="100" required ${problem ? html`aria-describedby="problem"` : html`autofocus`}>
</div>
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1000" required ${problem && html`aria-describedby="problem" autofocus`}>
</div>
<button class="main">Sign in</button>
</form>
<p class="hint">The operator of this platform gives names and passwords: <code>rollcall platform operators create</code>.</p>
</div>`
}
