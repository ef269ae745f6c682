import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id, uncountedListQuery, uncountedPage } from './common.ts'
import { CustomFieldType } from './custom-field-kinds.ts'

const EntityType = z.enum(['RISK', 'CONTROL', 'ASSET', 'PERSONNEL', 'VENDOR', 'FRAMEWORK_REQUIREMENTS'])

/** What is known of a custom field. */
export const CustomFieldDefinition = z
  .object({
    customFieldId: Id,
    name: z.string(),
    description: z.string().nullable(),
    type: CustomFieldType,
    isRequired: z.boolean().describe('Whether a value must be given at creation and can never be emptied.'),
    isHidden: z.boolean(),
    readOnly: z.boolean().describe('True for a field that computes itself (`FORMULA`).'),
    entityTypes: z.array(EntityType).describe('The kinds of objects that have the field.'),
    currencyCode: z.string().optional().describe('Only for `CURRENCY`.'),
    options: z
      .array(z.object({ customFieldOptionId: Id, value: z.string() }))
      .optional()
      .describe('The only values that `OPTIONS` and `OPTIONS_NUMERIC` take. Without them any value fits.'),
  })
  .meta({ id: 'CustomFieldDefinitionResponsePublicV2Dto', description: 'A field that the account has added.' })
export type CustomFieldDefinition = z.infer<typeof CustomFieldDefinition>

const FieldRef = z.union([Id, z.templateLiteral(['name:', z.string().min(1)])], {
  error: 'must be a number, or a name that begins with name:',
})

const shared = {
  method: 'GET',
  permission: 'custom-field-definition-get',
  entitlement: 'CUSTOM_FIELDS_AND_FORMULAS',
} as const

/** The operations on the definitions of custom fields. */
export const customFieldDefinitions = operations({
  listCustomFieldDefinitions: {
    ...shared,
    path: '/custom-field-definitions',
    summary: 'List Custom Field Definitions',
    description: 'The custom fields of the account.',
    query: z.object({
      ...uncountedListQuery,
      entityType: EntityType.optional().describe('Only fields of this kind of object.'),
      isHidden: z.boolean().optional().describe('Only fields that are hidden, or only those that are not.'),
    }),
    success: {
      200: uncountedPage(CustomFieldDefinition).meta({ id: 'CustomFieldDefinitionsResponsePublicV2Dto' }),
    },
    errors: [400, 401, 402, 403, 412, 500],
  },
  getCustomFieldDefinition: {
    ...shared,
    path: '/custom-field-definitions/:customFieldId',
    summary: 'Get Custom Field Definition',
    description: 'One custom field.',
    params: z.object({ customFieldId: FieldRef }),
    success: { 200: CustomFieldDefinition },
    errors: [400, 401, 402, 403, 404, 412, 422, 500],
  },
})
