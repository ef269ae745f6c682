/** A wrong export, and what becomes of it as a snapshot and as a delta. */
export type Outcome = { readonly name: string; readonly file: string; readonly outcomes: readonly string[] }

/** The page docs/disasters.md: what becomes of exports that are wrong in all kinds of ways. */
export function disastersPage(entries: readonly Outcome[]): string {
  return `# What becomes of a wrong export?

Made by \`test/sync/plan/disasters.test.ts\` (\`npx vitest run test/sync/plan/disasters.test.ts -u\`), which reads each of these ${entries.length} files as the daemon does.

A company of 400 people, of whom 360 are employed, has sent the same export twice. Then comes one that is wrong, once as a snapshot and once
as a delta. \`refused\`: the file cannot be read as an export, the run fails, and the next run reads the next one. \`held\`: the guards that
stop the plan; nothing of it is sent until a person approves it. Everything else goes on, and says how many people change in which way: never
more than [the limits](guards.md) allow.

| The export | Its file | As a snapshot | As a delta |
|---|---|---|---|
${entries.map(disasterRow).join('\n')}
`
}

/** The row of that page about one export. */
export function disasterRow({ name, file, outcomes }: Outcome): string {
  return `| ${[name, `\`${file}\``, ...outcomes].join(' | ')} |`
}
