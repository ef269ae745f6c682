import { type Html, html } from '../../web/html.ts'

type SignInView = {
  readonly formToken: string
  readonly to: string
  /** Why the last attempt failed. */
  readonly trouble: string | null
  readonly provider: string | null
  readonly canSignIn: boolean
  readonly isOut: boolean
}

/** The sign-in page. */
export function signInPage({ formToken, to, trouble, provider, canSignIn, isOut }: SignInView): Html {
  return html`<div class="card narrow">
<h1>Sign in to Rollcall</h1>
${trouble && html`<p class="notice bad" role="alert" id="trouble">${trouble}</p>`}
${isOut && html`<p class="notice good" role="status">You are signed out.</p>`}
${!canSignIn && noTokenNotice()}
${provider && html`<p><a class="button main" href="/sign-in/provider?to=${encodeURIComponent(to)}">Sign in with ${provider}</a></p>`}
<form class="stack" method="post" action="/sign-in">
<input type="hidden" name="token" value="${formToken}">
<input type="hidden" name="to" value="${to}">
<input type="text" name="username" value="Rollcall" autocomplete="username" readonly hidden>
<div class="field">
<label for="access">Token</label>
<input id="access" name="access" type="password" autocomplete="current-password" maxlength="1000" required ${trouble ? html`aria-describedby="trouble" autofocus` : html`autofocus`}>
</div>
<button class="${provider === null && 'main'}">Sign in</button>
</form>
<p class="hint">An admin creates a token for each person: <code>rollcall token create --name "Your name" --role operator</code></p>
</div>`
}

function noTokenNotice(): Html {
  return html`<p class="notice" role="status">Nobody can sign in yet. Create the first token on the machine of the daemon, with its account: <code>rollcall token create --name "Your name" --role admin</code></p>`
}
