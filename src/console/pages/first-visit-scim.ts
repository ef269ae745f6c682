import type { ConnectedScim, FirstScim } from '../../contract/control/first-visit.ts'
import { address } from '../../web/address.ts'
import { actionLink, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading, notice } from '../../web/layout.ts'
import { code, listing } from '../../web/parts.ts'
import type { Content } from '../site/frame.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { firstVisitHref, sentence } from '../site/words.ts'
import { keyField } from './first-visit-plan.ts'

const scimHref = `${firstVisitHref}/scim`

/** The card of the first page that leads to a connection which an identity system pushes to. */
export function scimCard(): Html {
  return card({
    title: 'Let an identity system push by SCIM',
    id: 'scim',
    content: html`<form class="stack" method="get" action="${scimHref}">
<p>Okta, Microsoft Entra and other identity systems send each change of a user to Rollcall. Rollcall creates the token for them.</p>
${textField({ name: 'name', label: 'Name of the connection on the platform', value: 'HR', required: true, maxLength: 100 })}
${textField({ name: 'timeZone', label: 'Time zone that decides on which day a person leaves', value: Temporal.Now.timeZoneId(), required: true, maxLength: 100, hint: 'For example Europe/Berlin.' })}
<div class="row"><button class="main">Show what is written</button></div>
</form>`,
  })
}

/** Adds the pages on which an admin makes a connection that an identity system pushes to. */
export function scimPages(site: Site): void {
  site.action(scimHref, {
    section: 'overview',
    operation: 'connectScim',
    ask: async (context, fields) => {
      const body = settingsIn(fields)
      const plan = await context.control.planScim({ body })
      return {
        title: `Connect ${plan.connection}?`,
        explanation: explanationOf(plan),
        fields: keyField(plan),
        hidden: { ...body, digest: plan.digest },
        button: 'Write it, and create the token',
        cancel: firstVisitHref,
      }
    },
    perform: async (context, fields) => await connect(context, fields),
  })
}

function settingsIn(fields: Fields) {
  return { name: fields('name') || 'HR', timeZone: fields('timeZone') || Temporal.Now.timeZoneId() }
}

function explanationOf({ address: pushedTo, addressHelp, file, text, key }: FirstScim): Html {
  return html`<ul class="lines">
<li>The connection is written to ${code(file)}, and Rollcall starts to use it.</li>
${key.file !== null && html`<li>The key is written to ${code(key.file)}, which only the account of Rollcall can read.</li>`}
<li>A token for the identity system is created. The next page shows it once.</li>
<li>People will be pushed to ${code(pushedTo)}. ${addressHelp !== null && sentence(addressHelp)}</li>
</ul>
<details open><summary>New content of the file</summary>${listing('The configuration', text)}</details>
${key.trouble !== null && key.file === null && html`<p class="notice bad">${sentence(key.trouble)}</p>`}`
}

async function connect({ control }: PageContext, fields: Fields): Promise<Content> {
  const made = await control.connectScim({
    body: { ...settingsIn(fields), digest: fields('digest'), ...(fields('apiKey') && { apiKey: fields('apiKey') }) },
  })
  return { title: 'Set up the identity system', content: connectedPart(made), section: 'overview' }
}

function connectedPart({ connection, file, token, senders, addressHelp, isTakenUp, ...made }: ConnectedScim): Html {
  const next = isTakenUp ? '' : ' Restart Rollcall to apply the new configuration.'
  return html`${heading({ title: 'Set up the identity system', lead: `The connection ${connection} was written to ${file}.${next}` })}
${card({
  title: 'The token',
  id: 'token',
  tone: 'wait',
  content: html`<p>Copy it now: it is shown only here, and stored nowhere.</p>${listing('The token', token)}`,
})}
${card({ title: 'The address', id: 'address', content: html`${listing('The address', made.address)}${addressHelp !== null && notice(sentence(addressHelp), 'bad')}` })}
${senders.map(({ sender, steps }, at) => card({ title: sender, id: `sender-${at}`, content: html`<ol class="lines">${steps.map((step) => html`<li>${step}</li>`)}</ol>` }))}
<div class="row">${actionLink({ href: address(`${firstVisitHref}/done`), name: 'I have the token', kind: 'main' })}</div>`
}
