import type { SourcePreview } from '../../daemon/proposal/preview-source.ts'
import {
  type FormChoice,
  type Head,
  readTable,
  type Table,
  tableOfList,
  UnclearEncoding,
  UnclearSheet,
} from '../../daemon/proposal/table.ts'
import { Failure } from '../../errors.ts'
import type { Output } from '../session/output.ts'
import type { Prompts } from '../session/prompts.ts'

const another = 'another encoding'

type PromptContext = { readonly prompts: Prompts | null; readonly output: Pick<Output, 'printMessage'> }
type ReadTable = { readonly form: FormChoice; readonly table: Table }

/** The table of an export, or of the first records of a list, for which no form can be chosen. */
export async function tableOfPreview(
  preview: SourcePreview,
  form: FormChoice,
  asking: PromptContext,
): Promise<ReadTable> {
  if (!('list' in preview)) return await tableOf(preview.head, form, asking)
  const { encoding, delimiter, headerLine, sheet } = form
  if ([encoding, delimiter, headerLine, sheet].some((choice) => choice !== undefined))
    throw new Failure(
      'usage',
      `${preview.list.name} is JSON and cannot be used with --encoding, --delimiter, --header-line and --sheet`,
    )
  return { form, table: tableOfList(preview.list) }
}

/** The table of an export. Asks for the encoding or the sheet if the export does not show it; `prompts`: null asks nothing. */
export async function tableOf(head: Head, form: FormChoice, { prompts, output }: PromptContext): Promise<ReadTable> {
  try {
    return { form, table: await readTable(head, form) }
  } catch (error) {
    if (prompts === null || !(error instanceof UnclearEncoding || error instanceof UnclearSheet)) throw error
    for (;;) {
      const answer =
        error instanceof UnclearSheet
          ? { sheet: await sheetFrom(error, prompts) }
          : { encoding: await encodingFrom(error, prompts) }
      const chosen = { ...form, ...answer }
      try {
        return { form: chosen, table: await readTable(head, chosen) }
      } catch (trouble) {
        if (!(trouble instanceof Failure)) throw trouble
        output.printMessage(trouble.message)
      }
    }
  }
}

async function sheetFrom({ sheets }: UnclearSheet, prompts: Prompts): Promise<string> {
  return await prompts.choose(
    'Which sheet lists the people?',
    sheets.map((name) => ({ value: name, label: name })),
  )
}

async function encodingFrom({ readings }: UnclearEncoding, prompts: Prompts): Promise<string> {
  const choices = readings.map(({ encoding, words }) => ({
    value: encoding,
    label: `${words.join(', ')} (${encoding})`,
  }))
  if (choices.length > 0) {
    const chosen = await prompts.choose('The export is not UTF-8. Which of these is spelled correctly?', [
      ...choices,
      { value: another, label: another },
    ])
    if (chosen !== another) return chosen
  }
  return await prompts.text('In which encoding is the export? Such as windows-1252 or gb18030', 'windows-1252')
}
