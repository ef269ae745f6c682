import type { FirstVisit } from '../../contract/control/first-visit.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionForm, actionLink, fileField, selectField, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading, notice } from '../../web/layout.ts'
import { code, live } from '../../web/parts.ts'
import { number, pluralize } from '../../web/words.ts'
import type { Content } from '../site/frame.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { firstVisitHref } from '../site/words.ts'
import { addressCard, addressPages } from './first-visit-address.ts'
import { uploadHref } from './first-visit-answers.ts'
import { listPages, recipeCard } from './first-visit-list.ts'
import { planPages } from './first-visit-plan.ts'
import { delimiters, encodings, readingPages } from './first-visit-reading.ts'
import { scimCard, scimPages } from './first-visit-scim.ts'

const mebibyte = 1024 * 1024
const title = 'Connect HR'
const steps = ['See how it is read', 'See what a first run would do', 'Write the connection'] as const

/** Adds the pages on which an admin uploads an export and creates the first connection. */
export function firstVisitPages(site: Site): void {
  site.page(firstVisitHref, async (context, fields) => {
    if (await isConnected(context)) return { to: '/' }
    return startPage(context, fields, fields('gone') === '' ? null : gone)
  })

  site.upload(`${firstVisitHref}/export`, {
    operation: 'uploadExport',
    receive: async ({ control }, fields, { name, bytes }) => {
      const chosen = { delimiter: fields('delimiter'), sheet: fields('sheet'), records: fields('records') }
      const form = { encoding: fields('encoding'), ...chosen }
      const { id } = await control.uploadExport({ query: withoutBlanks({ name, ...form }), body: bytes })
      return { to: uploadHref(id, '', form) }
    },
    askAgain: startPage,
  })

  site.action(`${firstVisitHref}/:upload/drop`, {
    section: 'overview',
    operation: 'dropExport',
    ask: async (_context, fields) => ({
      title: 'Remove what you gave?',
      explanation: html`<p>The export that you uploaded, or the address with its credentials, is removed from this machine. Nothing else has been stored.</p>`,
      button: 'Remove it',
      cancel: uploadHref(fields('upload')),
    }),
    perform: async ({ control }, fields) => {
      await control.dropExport({ params: { upload: fields('upload') } }).catch(unlessGone)
      return { to: firstVisitHref, done: 'It was removed.' }
    },
  })

  listPages(site)
  scimPages(site)
  addressPages(site)
  readingPages(site)
  planPages(site)

  site.page(`${firstVisitHref}/done`, async (context) => {
    const waiting = await waitingPart(context)
    if (waiting === null) return { to: '/' }
    return {
      title,
      content: html`${heading({ title: 'Almost done' })}${waiting}`,
      section: 'overview',
    }
  })

  site.part(`${firstVisitHref}/done/state`, waitingPart)
}

const gone =
  'The export or address is no longer stored here: it was removed after some time, or Rollcall was restarted. Upload or enter it again.'

function unlessGone(error: unknown): void {
  if (!(error instanceof Failure) || error.code !== 'not_found') throw error
}

function withoutBlanks<T extends Readonly<Record<string, string>>>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as T
}

async function isConnected({ control }: PageContext): Promise<boolean> {
  return (await control.about({})).connections.length > 0
}

async function startPage(context: PageContext, fields: Fields, refused: string | null): Promise<Content> {
  const refusal = context.notAllowed('uploadExport')
  const content = html`${refused && notice(refused, 'bad')}
${heading({ title, lead: 'Rollcall has no connection yet, so it reads nothing and sends nothing. Choose how it gets the list of your people.' })}
${
  refusal === null
    ? await startCards(context, fields, refused !== null)
    : html`<p class="empty" role="status">This page creates the first connection from an HR export, but ${refusal}.</p>`
}`
  return { title, content, section: 'overview' }
}

/** `isOpen`: whether the choices of a format are shown, because an export was refused. */
async function startCards(context: PageContext, fields: Fields, isOpen: boolean): Promise<Html> {
  const visit = await context.control.getFirstVisit({})
  return html`${await recipeCard(context)}${visit.takesAddresses && addressCard()}${uploadCard(context, fields, { ...visit, isOpen })}${scimCard()}
${card({ title: 'Next steps', id: 'steps', content: stepsText(visit) })}`
}

type UploadCard = FirstVisit & { readonly isOpen: boolean }

function uploadCard(context: PageContext, fields: Fields, { isOpen, ...visit }: UploadCard): Html {
  return card({
    title: 'Upload an export',
    id: 'upload',
    content: actionForm({
      action: `${firstVisitHref}/export`,
      formToken: context.formToken,
      files: true,
      content: html`<p>Upload a list of your people as HR exports it: CSV, plain or compressed with zip or gzip, an Excel workbook (.xlsx) or a JSON file, at most ${number(Math.floor(visit.mostBytes / mebibyte))} MiB. Nothing is stored before the last step. The uploaded file is removed then, or ${pluralize(visit.keptMinutes, 'minute')} after you last opened it.</p>
<details${isOpen && html` open`}><summary>The file has another format</summary>
${selectField({ name: 'encoding', label: 'Encoding', options: [detected, ...encodings], value: fields('encoding') })}
${selectField({ name: 'delimiter', label: 'Delimiter', options: [detected, ...delimiters], value: fields('delimiter') })}
${textField({ name: 'sheet', label: 'Sheet', value: fields('sheet'), maxLength: 100, hint: 'If a workbook has several sheets: the name of the one that lists the people.' })}
${textField({ name: 'records', label: 'Path of the list', value: fields('records'), maxLength: 200, hint: 'If a JSON file has several lists: the path of the list of people, such as /data/items.' })}
</details>
${fileField({ name: 'export', label: 'The export', required: true })}
<div class="row"><button class="main">Upload it and check it</button></div>`,
    }),
  })
}

const detected = { value: '', name: 'detected automatically' }

function stepsText({ file, trouble, takesAddresses }: FirstVisit): Html {
  const elsewhere = takesAddresses ? 'an export on a server' : 'an export on a server, or a list at an address'
  return html`<ol class="lines"><li>Choose an HR system, ${takesAddresses && 'give an address, '}or upload an export</li>${steps.map((step) => html`<li>${step}</li>`)}</ol>
<p class="hint">The connection is written to ${code(file)}. ${trouble ?? html`To connect ${elsewhere}, use ${code('rollcall init')}.`}</p>`
}

/** Progress of the daemon with the new configuration; null once the daemon uses it. */
async function waitingPart(context: PageContext): Promise<Html | null> {
  const { connections, reload } = await context.control.status({})
  if (connections.length > 0) return null
  const refused = reload?.refused ?? null
  return live({
    id: 'taking-up',
    href: refused === null ? `${firstVisitHref}/done/state` : null,
    everySeconds: 1,
    content:
      refused === null
        ? html`<p role="status">Rollcall is applying the configuration and does not answer for a few seconds. Then this page shows the overview.</p>
<p>${actionLink({ href: address('/'), name: 'Go to the overview' })}</p>`
        : notice(html`The configuration was refused: ${refused}. Change the file, and restart Rollcall.`, 'bad'),
  })
}
