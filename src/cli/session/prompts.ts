import { escapeText } from '../../text/escape.ts'

/** The person at the terminal. Cancelling a question ends the command. */
export type Prompts = {
  /** `message`: may quote the export; it is escaped. `usual`: the answer to Enter; empty: Enter gives an empty text. */
  text(message: string, usual: string): Promise<string>
  choose<T extends string>(
    message: string,
    choices: readonly { readonly value: T; readonly label: string }[],
  ): Promise<T>
  confirm(message: string): Promise<boolean>
}

/** Thrown when the person cancels a question. */
export class Stopped extends Error {}

/** Asks at the terminal, on stderr. */
export async function terminalPrompts(): Promise<Prompts> {
  const clack = await import('@clack/prompts')
  const output = process.stderr
  const answered = <T>(answer: T): Exclude<T, symbol> => {
    if (clack.isCancel(answer)) throw new Stopped()
    return answer as Exclude<T, symbol>
  }
  return {
    async text(message, usual) {
      const settings = { message: escapeText(message), placeholder: usual, defaultValue: usual, output }
      return answered(await clack.text(settings)) || usual
    },
    async choose(message, choices) {
      const options = choices.map(({ value, label }) => ({ value: value as string, label: escapeText(label) }))
      return answered(await clack.select({ message: escapeText(message), options, output })) as never
    },
    confirm: async (message) => answered(await clack.confirm({ message: escapeText(message), output })),
  }
}
