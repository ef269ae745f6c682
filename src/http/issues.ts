import type { z } from 'zod'

const shownIssues = 3

/** What is wrong with an input, by field and without its values: `size: Too big: expected number to be <=500`. */
export function describeIssues(error: z.core.$ZodError, root = ''): string {
  const shown = error.issues.slice(0, shownIssues).map((issue) => describeIssue(issue, root))
  const hidden = error.issues.length - shown.length
  return hidden > 0 ? `${shown.join('; ')}; and ${hidden} more` : shown.join('; ')
}

function describeIssue(issue: z.core.$ZodIssue, root: string): string {
  const field = fieldName(issue.path, root)
  return field === '' ? issue.message : `${field}: ${issue.message}`
}

function fieldName(path: readonly PropertyKey[], root: string): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`
    return name === '' ? String(key) : `${name}.${String(key)}`
  }, root)
}
