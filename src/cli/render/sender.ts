import { escapeText, type Paint } from './text.ts'

/** What an identity system is set up with. */
type Sender = {
  readonly address: string
  readonly help: string | null
  readonly token: string
  readonly senders: readonly { readonly sender: string; readonly steps: readonly string[] }[]
}

/** The address and the token of an identity system that pushes, and how the usual ones are set up. The token is shown only here. */
export function renderSender({ address, help, token, senders }: Sender, paint: Paint): string {
  return [
    'The token of the identity system, which is shown only once:',
    '',
    `  ${escapeText(token)}`,
    '',
    `People are pushed to ${escapeText(address)}`,
    ...(help === null ? [] : [`${paint('yellow', '!')} ${escapeText(help)}`]),
    ...senders.flatMap(({ sender, steps }) => [
      '',
      paint('bold', escapeText(sender)),
      ...steps.map((step) => `  ${escapeText(step)}`),
    ]),
    '',
  ].join('\n')
}
