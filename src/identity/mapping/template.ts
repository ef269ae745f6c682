/** A part of a template: literal text, or a column whose cell is inserted. */
export type TemplatePart = { readonly literal: string } | { readonly column: string }

const piece = /\{\{|\}\}|\{([^{}]*)\}|[^{}]+|[{}]/g

/** Why a template cannot be used, or null. It names columns in braces; a literal brace is doubled. */
export function templateProblem(template: string): string | null {
  const stray = [...template.matchAll(piece)].some(([text]) => text === '{' || text === '}')
  if (stray) return 'a brace is not closed; one that is meant as such is doubled'
  const names = columnsOf(template)
  if (names.length === 0) return 'a template names at least one column in braces, such as {First Name}'
  return names.some((name) => !/[\p{L}\p{N}]/u.test(name)) ? 'a column name holds a letter or a digit' : null
}

/** The parts of a template without problems. */
export function templateParts(template: string): readonly TemplatePart[] {
  return [...template.matchAll(piece)].map(([text, column]) => {
    if (column !== undefined) return { column }
    return { literal: text === '{{' || text === '}}' ? text.slice(1) : text }
  })
}

function columnsOf(template: string): readonly string[] {
  return templateParts(template).flatMap((part) => ('column' in part ? [part.column] : []))
}
