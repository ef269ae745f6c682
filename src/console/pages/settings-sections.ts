import { createHash } from 'node:crypto'
import type { SettingsSection } from '../../contract/control/settings-changes.ts'
import type { Fields } from '../site/site.ts'

/** How the form names each section of a connection's settings. */
export const sectionTexts: Readonly<Record<SettingsSection, { readonly label: string; readonly hint: string }>> = {
  target: { label: 'Target', hint: 'The custom connection on the platform, by name or id.' },
  source: { label: 'Source', hint: 'Where HR’s data comes from, its format, and the time zone of its dates.' },
  mapping: { label: 'Columns', hint: 'Which column holds which field, on top of the preset; which rows are read.' },
  leaving: {
    label: 'Status words and absence',
    hint: 'Which values say that a person has left, and what the absence of a person means.',
  },
  guards: { label: 'Guards', hint: 'How far a plan may go before a person has to approve it, and pinned people.' },
  schedule: { label: 'Schedule', hint: 'When the source is read, and when the platform is compared with it.' },
  other: { label: 'Further settings', hint: 'Delivery, leavers, webhook and linked connections.' },
}

const sections = Object.keys(sectionTexts) as SettingsSection[]

/** The name of the form field of a section. */
export function sectionInput(section: string): string {
  return `part-${section}`
}

/** The name of the hidden field with the hash of the text of a section that the person saw. */
export function seenTextInput(section: string): string {
  return `mark-${section}`
}

/** Hash of the text of a section, without the blanks around it, which a form does not keep. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text.trim()).digest('base64url').slice(0, 16)
}

/** The sections that a person has changed. Others are not sent, so that changes of somebody else stay. */
export function typedSections(fields: Fields): Partial<Record<SettingsSection, string>> {
  const changed = sections.flatMap((section) => {
    const seenHash = fields(seenTextInput(section))
    const text = fields(sectionInput(section)).replaceAll('\r\n', '\n')
    return seenHash === '' || hashOf(text) === seenHash ? [] : [[section, text] as const]
  })
  return Object.fromEntries(changed)
}
