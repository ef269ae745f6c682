/** A wrong export, and its outcome as a snapshot and as a delta. */
export type Outcome = { readonly name: string; readonly file: string; readonly outcomes: readonly string[] }

/** The snapshot `test/sync/plan/disasters.md`: the outcome of every wrong export. docs/disasters.md shows one of each class. */
export function disastersTable(entries: readonly Outcome[]): string {
  return `# The outcome of ${entries.length} wrong exports

Written by \`npx vitest run test/sync/plan/disasters.test.ts -u\`. docs/disasters.md explains the words and shows one example of each class.

| The export | Its file | As a snapshot | As a delta |
|---|---|---|---|
${entries.map(disasterRow).join('\n')}
`
}

/** The row of that table about one export. */
export function disasterRow({ name, file, outcomes }: Outcome): string {
  return `| ${[name, `\`${file}\``, ...outcomes].join(' | ')} |`
}
