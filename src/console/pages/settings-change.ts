import type {
  ConnectionSettings,
  SettingsDifference,
  SettingsPreview,
  SettingsSection,
} from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import { escapeLines } from '../../text/escape.ts'
import { actionForm, actionLink, areaField, hiddenInput, hiddenTextarea } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading, notice } from '../../web/layout.ts'
import { code, listing } from '../../web/parts.ts'
import { formatInstant, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Content } from '../site/frame.ts'
import type { Action, Fields, PageContext, SharedContext, Site } from '../site/site.ts'
import { connectionHref, sentence } from '../site/words.ts'
import { effectCards } from './settings-effect.ts'
import { hashOf, sectionInput, sectionTexts, seenTextInput, typedSections } from './settings-sections.ts'

const path = '/connections/:connection/settings'
const operation = 'changeConnectionSettings'

/** A link to the settings of a connection, where an admin changes them. */
export function changeLink(context: SharedContext, connection: string): Html {
  return actionLink({
    href: settingsHref(connection),
    name: 'Change settings',
    label: `Change settings: ${connection}`,
    notAllowed: context.notAllowed(operation),
  })
}

/** Adds the pages on which an admin changes the settings of a connection. */
export function settingsChangePages(site: Site): void {
  site.page(path, async (context, fields) => {
    const refusal = context.notAllowed(operation)
    if (refusal === null) return formPage(await readSettings(context, fields), { context, fields })
    const title = `Settings of ${fields('connection')}`
    const content = html`${heading({ title })}<p class="empty" role="status">You cannot change the settings: ${refusal}.</p>`
    return { title, content, section: 'settings' }
  })
  site.resultPage(`${path}/preview`, previewPage)
  site.resultPage(`${path}/effect`, storedPage)
  site.action(`${path}/save`, save)
  site.action(`${path}/undo`, undo)
  site.action(`${path}/approve`, approve)
  site.action(`${path}/reject`, reject)
}

/** The address of the settings of a connection, or of a step below it. */
export function settingsHref(connection: string, step = ''): string {
  return `${connectionHref(connection)}/settings${step}`
}

/** The settings of the connection that is named in the URL. */
export async function readSettings({ control }: PageContext, fields: Fields): Promise<ConnectionSettings> {
  return await control.getConnectionSettings({ params: { connection: fields('connection') } })
}

type FormState = {
  readonly context: PageContext
  /** The values of the request: path and query parameters, and the form as typed so far. */
  readonly fields: Fields
  readonly problems?: SettingsPreview['problems']
  /** Why the last step was refused. */
  readonly refused?: string
}

function formPage(settings: ConnectionSettings, { context, fields, problems = [], refused }: FormState): Content {
  const { connection, file, trouble, sections, waiting, previous } = settings
  const title = `Settings of ${connection}`
  const general = problems.filter(({ section }) => !sections.some((one) => one.section === section))
  const content = html`${refused !== undefined && notice(refused, 'bad')}
${general.length > 0 && notice(html`${general.map(({ message }) => html`${sentence(message)} `)}`, 'bad')}
${refused === undefined && general.length === 0 && problems.length > 0 && notice('Nothing was saved: correct what is marked below.', 'bad')}
${heading({
  title,
  crumbs: [
    { name: 'Overview', href: '/' },
    { name: connection, href: connectionHref(connection) },
  ],
  lead: html`The settings in ${code(file)}. Nothing is saved before you have seen what changes.`,
  actions: html`${sections.some(({ section }) => section === 'mapping') && actionLink({ href: settingsHref(connection, '/columns'), name: 'Choose columns and status words' })}
${previous && actionLink({ href: settingsHref(connection, '/undo'), name: 'Undo the last change' })}`,
})}
${trouble !== null && html`<p class="notice bad">${sentence(`Nothing can be saved: ${trouble}`)}${sections.length > 0 && ' You can see here what a change would do, and copy it.'}</p>`}
${settings.refusedReload !== null && html`<p class="notice bad">${sentence(`Rollcall refused the file when it last reloaded, and continues with the settings before it: ${settings.refusedReload}`)}</p>`}
${settings.hidden.length > 0 && html`<p class="hint">Left out, as a secret may stand there: ${settings.hidden.map((section) => sectionTexts[section].label).join(', ')}. Change that in the file itself.</p>`}
${waiting && waitingCard(connection, waiting, context)}
${sections.length > 0 && card({ title: 'Settings in YAML', id: 'form', content: settingsForm(settings, { context, fields, problems }) })}`
  return { title, content, section: 'settings' }
}

function settingsForm(
  { connection, digest, sections, twoPeople }: ConnectionSettings,
  { context, fields, problems = [] }: FormState,
): Html {
  return actionForm({
    action: settingsHref(connection, '/preview'),
    formToken: context.formToken,
    content: html`<p>Comments stay. Secrets are references such as ${code(`\${file:…}`)}, which are changed in the file itself.${twoPeople && ' A second admin has to approve a change.'}</p>
${hiddenInput('digest', digest)}
${sections.map(({ section, text }) => (isTooLong(text) ? longPart(section, text) : sectionField(section, text, { fields, problems })))}
<div class="row"><button class="main">See what changes</button><a class="button" href="${connectionHref(connection)}">Go back</a></div>`,
  })
}

/** A form holds all parts, and a longer one would be refused as a whole. */
const maxPartLength = 60_000
const maxPartBytes = 100_000

function isTooLong(text: string): boolean {
  return text.length > maxPartLength || encodeURIComponent(text.replaceAll('\n', '\r\n')).length > maxPartBytes
}

function longPart(section: SettingsSection, text: string): Html {
  const { label } = sectionTexts[section]
  return html`<div class="field"><b>${label}</b><p class="hint">${pluralize(text.split('\n').length, 'line')}: too long to be edited here. Change this part in the file itself.</p></div>`
}

type SectionState = { readonly fields: Fields; readonly problems: SettingsPreview['problems'] }

/** A section as it was typed. If the file has another text by now than the person saw, that is shown below it. */
function sectionField(section: SettingsSection, text: string, { fields, problems }: SectionState): Html {
  const { label, hint } = sectionTexts[section]
  const typed = typedSections(fields)[section]
  const value = typed ?? text
  const hasChangedInFile = typed !== undefined && fields(seenTextInput(section)) !== hashOf(text)
  return html`${hiddenInput(seenTextInput(section), hashOf(text))}
${areaField({
  ...{ name: sectionInput(section), label, value, isCode: true },
  hint: html`${hint}${hiddenCharacters(value)}`,
  rows: rowsOf(value),
  errors: problems.filter((one) => one.section === section).map(({ message }) => sentence(message)),
})}
${hasChangedInFile && html`<p class="hint">In the file now:</p>${listing(`${label}, in the file now`, text)}`}`
}

function rowsOf(text: string): number {
  return Math.min(24, Math.max(2, text.split('\n').length))
}

/** Shows the lines with invisible characters, which a field would hide. */
function hiddenCharacters(text: string): Html {
  const lines = text.split('\n').filter((line) => escapeLines(line) !== line)
  return html`${lines.slice(0, 3).map((line) => html` Hidden characters stand in ${code(line.replaceAll('\t', ' ').trim())}.`)}${lines.length > 3 && ` They stand in ${pluralize(lines.length - 3, 'further line')} too.`}`
}

type Waiting = NonNullable<ConnectionSettings['waiting']>

function waitingCard(
  connection: string,
  { by, at, expiresAt, isOwn, difference, id }: Waiting,
  context: PageContext,
): Html {
  const to = (step: string) => `${settingsHref(connection, step)}?id=${id}`
  return card({
    title: 'A change waits for a second admin',
    id: 'waiting',
    tone: 'wait',
    content: html`<p>${by} proposed it ${formatInstant(at)}. It expires ${formatInstant(expiresAt)}.</p>
${differenceList(difference)}
${effectForm(connection, 'waiting', context)}
<div class="row">${isOwn ? html`<span class="hint">You proposed it, so another admin has to approve it.</span>` : actionLink({ href: to('/approve'), name: 'Approve it', kind: 'main' })}
${actionLink({ href: to('/reject'), name: isOwn ? 'Withdraw it' : 'Reject it' })}</div>`,
  })
}

/** A button that shows what a run would do with a stored text: the export is read for it, which may take minutes. */
function effectForm(connection: string, change: 'waiting' | 'previous', { formToken }: PageContext): Html {
  const content = html`${hiddenInput('change', change)}<button>See what it does</button>`
  return actionForm({ action: settingsHref(connection, '/effect'), formToken, kind: 'row', content })
}

const signs = { added: '+ ', removed: '- ', kept: '  ' } as const

/** The changed lines of each section. `isQuestion`: for a confirmation page, where the next heading level after the title is h2. */
function differenceList(difference: SettingsDifference, isQuestion = false): Html {
  return html`${difference.map(({ section, lines }) => {
    const { label } = sectionTexts[section]
    return html`${isQuestion ? html`<h2>${label}</h2>` : html`<h3>${label}</h3>`}
<div class="listing" role="region" tabindex="0" aria-label="Changed lines: ${label}"><pre>${lines.map(({ is, text }) => html`<code class="${is}">${signs[is]}${text}</code>\n`)}</pre></div>`
  })}`
}

/** The page that shows what typed settings change, or the form again with what is wrong. */
export async function previewPage(context: PageContext, fields: Fields): Promise<Content> {
  const settings = await readSettings(context, fields)
  const { connection } = settings
  const sections = typedSections(fields)
  if (fields('again') !== '') return formPage(settings, { context, fields })
  if (fields('digest') !== settings.digest)
    return formPage(settings, { context, fields, refused: changedFileText(settings) })
  if (Object.keys(sections).length === 0)
    return formPage(settings, { context, fields, refused: 'Nothing was changed yet.' })
  const tooLong = Object.entries(sections).filter(([, text]) => isTooLong(text))
  if (tooLong.length > 0) {
    const message = 'this is too long to be saved here: shorten it, or change the file itself'
    const named = tooLong.map(([section]) => ({ section: section as SettingsSection, message }))
    return formPage(settings, { context, fields, problems: named })
  }
  const body = { digest: settings.digest, sections }
  const query = { values: seesValues(context.caller) }
  const preview = await context.control.previewConnectionSettings({ params: { connection }, query, body })
  const { problems, difference } = preview
  if (problems.length > 0) return formPage(settings, { context, fields, problems })
  if (difference.length === 0)
    return formPage(settings, { context, fields, refused: 'Nothing was changed that shows in the settings.' })
  const title = 'What changes'
  const content = html`${heading({
    title,
    crumbs: [
      { name: connection, href: connectionHref(connection) },
      { name: 'Settings', href: settingsHref(connection) },
    ],
    lead: html`Nothing is saved yet. The file is ${code(settings.file)}.`,
  })}
${card({ title: 'In the file', id: 'difference', content: differenceList(difference) })}
${effectCards(preview, connection)}
${saveCard(preview, { context, fields, settings })}`
  return { title, content, section: 'settings' }
}

/** The page that shows what the change that waits does, or undoing the last one. */
async function storedPage(context: PageContext, fields: Fields): Promise<Content> {
  const connection = fields('connection')
  const change = fields('change') === 'previous' ? 'previous' : 'waiting'
  const settings = await readSettings(context, fields)
  const query = { values: seesValues(context.caller) }
  const preview = await context.control.previewStoredSettings({ params: { connection }, query, body: { change } })
  const { waiting } = settings
  const title = change === 'waiting' ? 'What the change does that waits' : 'What undoing the last change does'
  const content = html`${preview.problems.length > 0 && notice(html`${preview.problems.map(({ message }) => html`${sentence(message)} `)}`, 'bad')}
${heading({
  title,
  crumbs: [
    { name: connection, href: connectionHref(connection) },
    { name: 'Settings', href: settingsHref(connection) },
  ],
  lead: html`Nothing is saved yet. The file is ${code(settings.file)}.`,
})}
${card({ title: 'In the file', id: 'difference', content: differenceList(preview.difference) })}
${effectCards(preview, connection)}
<div class="row">${change === 'previous' ? actionLink({ href: settingsHref(connection, '/undo'), name: 'Undo the last change', kind: 'main' }) : waiting && !waiting.isOwn && actionLink({ href: `${settingsHref(connection, '/approve')}?id=${waiting.id}`, name: 'Approve it', kind: 'main' })}
<a class="button" href="${settingsHref(connection)}">Go back</a></div>`
  return { title, content, section: 'settings' }
}

function changedFileText({ file }: ConnectionSettings): string {
  return `${file} has changed since you opened this page. Your text is kept below: compare it with the file as it is now, and continue.`
}

type SaveState = {
  readonly context: PageContext
  readonly fields: Fields
  readonly settings: ConnectionSettings
}

function saveCard(
  { trouble, twoPeople, text, difference }: SettingsPreview,
  { context, fields, settings }: SaveState,
): Html {
  const { connection, digest, waiting } = settings
  const kept = html`${hiddenInput('digest', digest)}
${Object.entries(typedSections(fields)).map(([section, typed]) => html`${hiddenTextarea(sectionInput(section), typed)}${hiddenInput(seenTextInput(section), fields(seenTextInput(section)))}`)}`
  const back = html`<button name="again" value="1" formaction="${settingsHref(connection, '/preview')}">Continue editing</button>`
  const form = (button: Html) =>
    actionForm({
      action: settingsHref(connection, '/save'),
      formToken: context.formToken,
      content: html`${kept}<div class="row">${button}${back}</div>`,
    })
  if (trouble !== null)
    return card({
      title: 'Copy it into the file',
      id: 'save',
      content: html`<p>${sentence(`Nothing can be saved: ${trouble}`)} Put these settings in place of the ones there, and reload the daemon.</p>
${areaField({ name: 'text', label: 'The changed settings', value: text, isCode: true, isReadOnly: true, rows: rowsOf(text) })}
${form(html``)}`,
    })
  return card({
    title: twoPeople ? 'Propose it' : 'Save it',
    id: 'save',
    content: html`<p>${twoPeople ? `A second admin can see the same, and approves or rejects it. Until then nothing changes.${waiting ? ` It replaces the change of ${waiting.by} that waits.` : ''}` : 'The file is replaced as a whole, and Rollcall reloads. Afterwards you can undo it here.'}</p>
${difference.some(({ section }) => section === 'schedule') && html`<p class="hint">If no run started at the latest time of a changed schedule, it counts as missed: a run may start right after the reload.</p>`}
${form(html`<button class="main">${twoPeople ? 'Propose it to a second admin' : 'Save and reload'}</button>`)}`,
  })
}

/** The codes of failures that a person can correct in the form. */
const correctableCodes: ReadonlySet<string> = new Set(['conflict', 'config_invalid', 'usage'])

const save: Action = {
  section: 'settings',
  operation,
  // Shown only if somebody opens the address of the form directly: the form itself is sent to `perform`.
  ask: async (_context, fields) => ({
    title: `Settings of ${fields('connection')}`,
    explanation: html`<p>Nothing was typed here.</p>`,
    button: 'Show the settings',
    cancel: settingsHref(fields('connection')),
  }),
  perform: async (context, fields) => {
    const connection = fields('connection')
    const sections = typedSections(fields)
    if (Object.keys(sections).length === 0) return formPage(await readSettings(context, fields), { context, fields })
    try {
      const body = { digest: fields('digest'), sections }
      return resultOf(await context.control.changeConnectionSettings({ params: { connection }, body }))
    } catch (error) {
      if (!(error instanceof Failure) || !correctableCodes.has(error.code)) throw error
      const settings = await readSettings(context, fields)
      const refused = settings.digest === fields('digest') ? sentence(error.message) : changedFileText(settings)
      return formPage(settings, { context, fields, refused })
    }
  },
}

type Outcome = {
  readonly connection: string
  readonly file: string
  readonly waits: boolean
  readonly isTakenUp: boolean
}

function resultOf({ connection, file, waits, isTakenUp }: Outcome) {
  if (waits)
    return { to: settingsHref(connection), done: 'The change waits for a second admin. Nothing was saved yet.' }
  const next = isTakenUp
    ? 'Rollcall reloads now, and does not answer for a moment. If it refuses the file, this page says why.'
    : 'Restart Rollcall to apply it.'
  return { to: settingsHref(connection), done: `The change was saved to ${file}. ${next}` }
}

const undo: Action = {
  section: 'settings',
  operation: 'undoConnectionSettings',
  ask: async (context, fields) => {
    const { connection, digest, previous, twoPeople } = await readSettings(context, fields)
    if (previous === null) throw new Failure('conflict', 'there is no earlier version of these settings to restore')
    return {
      title: 'Undo the last change?',
      explanation: html`<p>${previous.by} made it ${formatInstant(previous.at)}. Undoing it changes these lines:</p>
${differenceList(previous.difference, true)}
${effectForm(connection, 'previous', context)}
${twoPeople && html`<p>A second admin has to approve it.</p>`}`,
      button: twoPeople ? 'Propose to undo it' : 'Undo it and reload',
      hidden: { digest },
      cancel: settingsHref(connection),
    }
  },
  perform: async ({ control }, fields) =>
    resultOf(
      await control.undoConnectionSettings({
        params: { connection: fields('connection') },
        body: { digest: fields('digest') },
      }),
    ),
}

async function requireWaiting(context: PageContext, fields: Fields): Promise<Waiting> {
  const { waiting } = await readSettings(context, fields)
  if (waiting?.id === fields('id')) return waiting
  throw new Failure('conflict', 'this change no longer waits: it was decided, replaced, or has expired')
}

const approve: Action = {
  section: 'settings',
  operation: 'approveConnectionSettings',
  ask: async (context, fields) => {
    const { by, difference, id } = await requireWaiting(context, fields)
    return {
      title: `Approve the change of ${by}?`,
      explanation: html`<p>The file is replaced, and Rollcall reloads.</p>${differenceList(difference, true)}${effectForm(fields('connection'), 'waiting', context)}`,
      button: 'Approve it, save and reload',
      hidden: { id },
      cancel: settingsHref(fields('connection')),
    }
  },
  perform: async ({ control }, fields) =>
    resultOf(
      await control.approveConnectionSettings({
        params: { connection: fields('connection') },
        body: { id: fields('id') },
      }),
    ),
}

const reject: Action = {
  section: 'settings',
  operation: 'rejectConnectionSettings',
  ask: async (context, fields) => {
    const { by, difference, id, isOwn } = await requireWaiting(context, fields)
    return {
      title: isOwn ? 'Withdraw your change?' : `Reject the change of ${by}?`,
      explanation: html`<p>Nothing is saved, and the change is removed.</p>${differenceList(difference, true)}`,
      button: isOwn ? 'Withdraw it' : 'Reject it',
      hidden: { id },
      cancel: settingsHref(fields('connection')),
    }
  },
  perform: async ({ control }, fields) => {
    const connection = fields('connection')
    await control.rejectConnectionSettings({ params: { connection }, body: { id: fields('id') } })
    return { to: settingsHref(connection), done: 'The change was removed. Nothing was saved.' }
  },
}
