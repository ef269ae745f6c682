import { type Html, html, type Renderable, sentText } from './html.ts'

/** The hidden field with the CSRF token, which proves that a form came from one of our pages. */
export function tokenField(formToken: string): Html {
  return hiddenInput('token', formToken)
}

/** A hidden field. */
export function hiddenInput(name: string, value: string | number): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** A hidden field for a text of several lines, which an input would not keep. */
export function hiddenTextarea(name: string, value: string): Html {
  return html`<textarea hidden name="${name}">${linesIn(value)}</textarea>`
}

type Common = {
  readonly name: string
  readonly label: string
  readonly hint?: Renderable
  readonly required?: boolean
}

type TextField = Common & {
  readonly value?: string
  readonly type?: 'text' | 'search' | 'password' | 'date' | 'number'
  readonly maxLength?: number
  readonly placeholder?: string
  /** Values that the browser offers; others can be typed too. */
  readonly suggestions?: readonly string[]
}

/** A field for one line of text, a date, a number or a password. */
export function textField({ type = 'text', value = '', placeholder, suggestions, ...field }: TextField): Html {
  return withLabel(
    field,
    html`<input id="${field.name}" name="${field.name}" type="${type}" value="${value}" autocomplete="off" autocapitalize="none" spellcheck="false"${placeholder !== undefined && html` placeholder="${placeholder}"`}${suggestions && html` list="${field.name}-suggestions"`}${attributes(field)}>${suggestions && html`<datalist id="${field.name}-suggestions">${suggestions.map((name) => html`<option value="${name}">`)}</datalist>`}`,
  )
}

type AreaField = TextField & {
  /** How many lines are shown; default: 3. */
  readonly rows?: number
  /** The text is code, such as YAML. */
  readonly isCode?: boolean
  /** The text is there to be copied. */
  readonly isReadOnly?: boolean
  /** What is wrong with the text. */
  readonly errors?: readonly string[]
}

/** Several lines of text, such as a reason. */
export function areaField({
  value = '',
  rows = 3,
  isCode = false,
  isReadOnly = false,
  errors = [],
  ...field
}: AreaField): Html {
  const { name } = field
  const isWrong = errors.length > 0
  const described = [...(isWrong ? [`${name}-error`] : []), ...(field.hint ? [`${name}-hint`] : [])]
  const { hint: _, ...plain } = field
  return withLabel(
    field,
    html`${isWrong && html`<p class="error" id="${name}-error">${errors.map((error, at) => html`${at > 0 && html`<br>`}${error}`)}</p>`}<textarea id="${name}" name="${name}" rows="${rows}"${isCode && html` class="code" wrap="off" spellcheck="false" autocapitalize="none"`}${isReadOnly && ' readonly'}${isWrong && html` aria-invalid="true"`}${attributes(plain)}${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}>${linesIn(value)}</textarea>`,
  )
}

/** The content of a textarea. Browsers leave out a line end at its beginning. */
function linesIn(text: string): Html {
  return html`${/^\r?\n/.test(text) && html`\n`}${sentText(text)}`
}

/** A file of the visitor's machine. The form needs `files: true`. */
export function fileField(field: Common): Html {
  return withLabel(field, html`<input id="${field.name}" name="${field.name}" type="file"${attributes(field)}>`)
}

/** An option of a choice. */
export type Option = { readonly value: string | number; readonly name: string }

/** A list to choose one option from. */
export function selectField({
  options,
  value,
  ...field
}: Common & { readonly options: readonly Option[]; readonly value: string | number | null }): Html {
  return withLabel(
    field,
    html`<select id="${field.name}" name="${field.name}"${attributes(field)}>${optionList(options, value ?? '')}</select>`,
  )
}

/** The options of a select that has no label of its own, as in a table. */
export function optionList(options: readonly Option[], chosen: string | number): Html[] {
  return options.map(
    ({ value, name }) => html`<option value="${value}"${value === chosen && html` selected`}>${name}</option>`,
  )
}

/** A checkbox; the form has `1` under its name if it is checked. */
export function checkField({ checked, ...field }: Common & { readonly checked: boolean }) {
  return html`<div class="check"><input id="${field.name}" name="${field.name}" type="checkbox" value="1"${checked && html` checked`}${attributes(field)}><label for="${field.name}">${field.label}</label>${field.hint && html`<p class="hint" id="${field.name}-hint">${field.hint}</p>`}</div>`
}

/** A choice of one from a few answers, all of them visible. */
export function choiceField({
  options,
  value,
  ...field
}: Omit<Common, 'hint'> & { readonly options: readonly Option[]; readonly value: string }): Html {
  return html`<fieldset class="choice"><legend>${field.label}</legend>
${options.map(
  (option, at) =>
    html`<div class="check"><input id="${field.name}-${at}" name="${field.name}" type="radio" value="${option.value}"${option.value === value && html` checked`}${field.required && html` required`}><label for="${field.name}-${at}">${option.name}</label></div>`,
)}</fieldset>`
}

type ActionForm = {
  readonly action: string
  readonly formToken: string
  readonly content: Renderable
  readonly kind?: 'stack' | 'row'
  /** Whether it holds a file, which has to be its last field. */
  readonly files?: boolean
}

/** A form that posts an action, with the CSRF token of the visitor. */
export function actionForm({ action, formToken, content, kind = 'stack', files = false }: ActionForm): Html {
  return html`<form class="${kind}" method="post" action="${action}"${files && html` enctype="multipart/form-data"`}>
${tokenField(formToken)}
${content}
</form>`
}

type FilterForm = {
  readonly action: string
  readonly label: string
  readonly fields: Renderable
  /** The id of the filtered part. */
  readonly part: string
  /** The URL of the unfiltered list; null: it is shown already. */
  readonly all: string | null
}

/** A form that filters what a page shows. Its fields become the query of the URL, and with scripts only `part` of the page is replaced. */
export function filterForm({ action, label, fields, part, all }: FilterForm): Html {
  return html`<form class="filter" role="search" method="get" action="${action}" aria-label="${label}" hx-get="${action}" hx-trigger="change delay:300ms, submit" hx-target="#${part}" hx-select="#${part}" hx-swap="outerHTML" hx-push-url="true">
${fields}
<div class="row"><button>Show</button>${all !== null && html`<a href="${all}">Show all</a>`}</div>
</form>`
}

/** A page that asks before an action. */
export type Confirmation = {
  readonly title: string
  /** What will happen, before anything does. */
  readonly explanation: Renderable
  readonly fields?: Renderable
  /** The button's text: the action itself, such as `Approve and deliver 12 changes`. */
  readonly button: string
  /** Whether the action takes something away. */
  readonly danger?: boolean
  /** Where the form is sent, with hidden fields. */
  readonly action: string
  readonly hidden?: Readonly<Record<string, string | number>>
  readonly formToken: string
  /** Where to go instead. */
  readonly cancel: string
  /** Why the last attempt failed. */
  readonly error?: string | null
}

/** Asks before an action: what will happen, what has to be stated, and one button for it. */
export function confirmation(options: Confirmation): Html {
  const { title, explanation, fields, button, danger = false, action, formToken, cancel, error = null } = options
  return html`<section class="card confirm" aria-labelledby="confirm">
<h1 id="confirm">${title}</h1>
${error && html`<p class="notice bad" role="alert" tabindex="-1" autofocus>${error}</p>`}
<div class="says">${explanation}</div>
${actionForm({
  action,
  formToken,
  content: html`${Object.entries(options.hidden ?? {}).map(([name, value]) => hiddenInput(name, value))}
${fields}
<div class="row"><button class="main${danger && ' danger'}">${button}</button>
<a class="button" href="${cancel}">Go back</a></div>`,
})}
</section>`
}

type ActionLink = {
  readonly href: string
  readonly name: string
  /** The name and its subject, for those who cannot see the context. */
  readonly label?: string
  readonly kind?: 'main' | 'danger'
  readonly notAllowed?: string | null
}

/** A link that looks like a button, to a page that asks for a confirmation. Without permission, it says who may. */
export function actionLink({ href, name, label, kind, notAllowed = null }: ActionLink): Html {
  if (notAllowed !== null) return html`<span class="not-allowed"><b>${name}</b>: ${notAllowed}</span>`
  return html`<a class="button ${kind}" href="${href}"${label !== undefined && html` aria-label="${label}"`}>${name}</a>`
}

function withLabel({ name, label, hint }: Common, input: Html): Html {
  return html`<div class="field">
<label for="${name}">${label}</label>
${input}
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>`
}

function attributes({ name, hint, required, maxLength }: Common & { maxLength?: number }): Html {
  return html`${required && html` required`}${maxLength !== undefined && html` maxlength="${maxLength}"`}${hint && html` aria-describedby="${name}-hint"`}`
}
