import type { RecipeView } from '../../contract/control/first-visit.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { actionLink, areaField, selectField, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { capital, firstVisitHref, sentence } from '../site/words.ts'
import { keyField, listText, planParts } from './first-visit-plan.ts'

const recipesHref = `${firstVisitHref}/recipe`
const defaultName = 'HR'

/** The card of the first page that leads to the systems which are read by their API. */
export async function recipeCard({ control }: PageContext): Promise<Html> {
  const { data } = await control.listRecipes({})
  const options = data.map(({ name, title }) => ({ value: name, name: title }))
  return card({
    title: 'Read an HR system by its API',
    id: 'recipe',
    content: html`<form class="stack" method="get" action="${recipesHref}">
<p>Rollcall knows the address, the pages and the fields of these systems. You give the credentials.</p>
${selectField({ name: 'recipe', label: 'HR system', options, value: null, required: true })}
<div class="row"><button class="main">Show what it needs</button></div>
</form>`,
  })
}

/** Adds the pages on which an admin connects an HR system by its API. */
export function listPages(site: Site): void {
  site.page(recipesHref, async (_context, fields) => ({ to: recipeHref(fields('recipe')) }))

  site.action(`${recipesHref}/:recipe`, {
    section: 'overview',
    operation: 'readList',
    ask: async (context, fields) => {
      const recipe = await requireRecipe(context, fields)
      return {
        title: recipe.title,
        explanation: explanationOf(recipe),
        fields: recipeFields(recipe, fields),
        button: 'Read the list and show it',
        cancel: firstVisitHref,
      }
    },
    perform: async (context, fields) => {
      const recipe = await requireRecipe(context, fields)
      const { id } = await context.control.readList({ body: requestIn(recipe, fields) })
      return { to: listHref(id), done: 'The list was read.' }
    },
  })

  site.page(`${firstVisitHref}/list/:list`, async ({ control }, fields) => {
    const list = await control.getList({ params: { list: fields('list') } }).catch(unlessGone)
    if (list === null) return { to: firstVisitHref }
    const title = 'What a first run would do'
    const links = { connect: listHref(list.id, '/connection'), back: recipeHref(list.recipe), backName: 'Back' }
    const content = html`${heading({
      title,
      crumbs: [
        { name: 'Connect HR', href: firstVisitHref },
        { name: list.title, href: recipeHref(list.recipe) },
      ],
      lead: html`Calculated from the list at ${list.source}. ${list.end !== null && html`How Rollcall recognised its end: ${list.end}. `}Nothing is stored or sent.`,
      actions: actionLink({ href: listHref(list.id, '/drop'), name: 'Remove the list' }),
    })}
${planParts(list, links)}`
    return { title, content, section: 'overview' }
  })

  site.action(`${firstVisitHref}/list/:list/drop`, {
    section: 'overview',
    operation: 'dropList',
    ask: async (_context, fields) => ({
      title: 'Remove the list?',
      explanation: html`<p>The list that was read and the credentials that you gave are removed. Nothing else has been stored.</p>`,
      button: 'Remove it',
      cancel: listHref(fields('list')),
    }),
    perform: async ({ control }, fields) => {
      await control.dropList({ params: { list: fields('list') } }).catch(unlessGone)
      return { to: firstVisitHref, done: 'The list was removed.' }
    },
  })

  site.action(`${firstVisitHref}/list/:list/connection`, {
    section: 'overview',
    operation: 'connectList',
    ask: async ({ control }, fields) => {
      const list = await control.getList({ params: { list: fields('list') } })
      return {
        title: `Connect ${list.title}?`,
        explanation: listText(list),
        fields: keyField(list),
        hidden: { digest: list.digest },
        button: 'Write it and connect',
        cancel: listHref(list.id),
      }
    },
    perform: async ({ control }, fields) => {
      const { connection, file, isTakenUp } = await control.connectList({
        params: { list: fields('list') },
        body: { digest: fields('digest'), ...(fields('apiKey') && { apiKey: fields('apiKey') }) },
      })
      const next = isTakenUp ? '' : ' Restart Rollcall to apply the new configuration.'
      return {
        to: `${firstVisitHref}/done`,
        done: `The connection ${connection} was written to ${file}. Start a run on the overview page.${next}`,
      }
    },
  })
}

function recipeHref(recipe: string): string {
  return `${recipesHref}/${encodeURIComponent(recipe)}`
}

function listHref(list: string, step = ''): string {
  return address(`${firstVisitHref}/list/${encodeURIComponent(list)}${step}`)
}

function unlessGone(error: unknown): null {
  if (error instanceof Failure && error.code === 'not_found') return null
  throw error
}

async function requireRecipe({ control }: PageContext, fields: Fields): Promise<RecipeView> {
  const { data } = await control.listRecipes({})
  const recipe = data.find(({ name }) => name === fields('recipe'))
  if (recipe) return recipe
  throw new Failure('not_found', `there is no recipe "${fields('recipe')}"`)
}

function explanationOf({ setup, notes }: RecipeView): Html {
  return html`<p>In the HR system:</p>
<ol class="lines">${setup.map((step) => html`<li>${step}</li>`)}</ol>
${notes.length > 0 && html`<p>What to know:</p><ul class="lines">${notes.map((note) => html`<li>${note}</li>`)}</ul>`}
<p>Rollcall reads the list once and shows what a first run would do. Nothing is stored before the last step.</p>`
}

function recipeFields({ parameters, credentials }: RecipeView, fields: Fields): Renderable {
  return html`${parameters.map(({ name, label, help, example, usual }) =>
    textField({
      name: parameterInput(name),
      label: capital(label),
      value: fields(parameterInput(name)) || (usual ?? ''),
      required: usual === null,
      maxLength: 500,
      hint: help ?? `Such as ${example}.`,
    }),
  )}${credentials.map((credential) => credentialField(credential, fields))}
${textField({ name: 'name', label: 'Name of the connection on the platform', value: fields('name') || defaultName, required: true, maxLength: 100 })}
${textField({ name: 'timeZone', label: 'Time zone of the dates', value: fields('timeZone') || Temporal.Now.timeZoneId(), required: true, maxLength: 100, hint: 'For example Europe/Berlin.' })}
<details${fields('settings') !== '' && html` open`}><summary>Other settings of the source</summary>
${areaField({ name: 'settings', label: 'Settings, one on each line', value: fields('settings'), maxLength: 5000, hint: 'Such as requestsPerMinute=60. They override those of the recipe.' })}
</details>`
}

/** Secrets are not repeated by a page. A key of several lines needs a field of several lines. */
function credentialField(
  { setting, label, help, is, optional }: RecipeView['credentials'][number],
  fields: Fields,
): Html {
  const field = { name: credentialInput(setting), label: capital(label), required: !optional, maxLength: 20_000 }
  const value = fields(credentialInput(setting))
  if (is === 'file')
    return textField({ ...field, value, hint: `${sentence(help)} The file on the machine that runs Rollcall.` })
  if (is === 'text') return textField({ ...field, value, hint: help })
  return /key$/i.test(setting)
    ? areaField({ ...field, hint: help })
    : textField({ ...field, type: 'password', hint: help })
}

function parameterInput(name: string): string {
  return `parameter-${name}`
}

function credentialInput(setting: string): string {
  return `credential-${setting}`
}

function requestIn({ name, parameters, credentials }: RecipeView, fields: Fields) {
  return {
    recipe: name,
    name: fields('name'),
    timeZone: fields('timeZone'),
    parameters: filledIn(
      parameters.map((parameter) => parameter.name),
      (parameter) => fields(parameterInput(parameter)),
    ),
    credentials: filledIn(
      credentials.map(({ setting }) => setting),
      (setting) => fields(credentialInput(setting)),
    ),
    settings: settingsIn(fields('settings')),
  }
}

function filledIn(names: readonly string[], inputOf: (name: string) => string): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (inputOf(name) === '' ? [] : [[name, inputOf(name)]])))
}

function settingsIn(text: string) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
      if (name === '') throw new Failure('usage', `"${line}" is not a setting: write NAME=VALUE`)
      return [name, jsonIn(value)]
    }),
  )
}

/** A number, a boolean, null, a list or an object; anything else is a text. */
function jsonIn(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
