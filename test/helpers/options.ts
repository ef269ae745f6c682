import { createProgram } from '../../src/cli/program.ts'

/** The words of a command line that no command has. */
export function unknownOptions([name, ...words]: readonly string[]): string[] {
  const command = createProgram(() => {}).commands.find((known) => known.name() === name)
  const flags = command?.options.map(({ long }) => long) ?? []
  const given = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/, ''))
  return [...(command ? [] : [name ?? '']), ...given.filter((flag) => !flags.includes(flag))]
}
