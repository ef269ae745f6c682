import { z } from 'zod'

/** The types of custom fields. */
export const CustomFieldType = z.enum([
  'TEXT',
  'NUMBER',
  'CURRENCY',
  'OPTIONS',
  'FORMULA',
  'OPTIONS_NUMERIC',
  'LONG_TEXT',
  'URL',
])
export type CustomFieldType = z.infer<typeof CustomFieldType>

/** The kinds of objects that can have custom fields. */
export const CustomFieldEntity = z.enum(['CONTROL', 'ASSET', 'PERSONNEL'])
export type CustomFieldEntity = z.infer<typeof CustomFieldEntity>
