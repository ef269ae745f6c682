import type {
  ControlLibraryDetail,
  ControlLibraryDetailExpand,
  ControlOfTemplate,
  EvidenceTemplate,
  PolicyTemplate,
  RequirementTemplate,
  TestTemplate,
} from '../../contract/platform/control-library.ts'
import type { PlatformContext } from '../core/context.ts'

/** The requested expansions of a control template. */
export async function expandTemplate(
  ctx: PlatformContext,
  templateId: number,
  expand: ReadonlySet<ControlLibraryDetailExpand>,
): Promise<Partial<ControlLibraryDetail>> {
  return {
    testTemplates: expand.has('testTemplates') ? await testsOf(ctx, templateId) : undefined,
    policyTemplates: expand.has('policyTemplates') ? await policiesOf(ctx, templateId) : undefined,
    evidenceTemplates: expand.has('evidenceTemplates') ? await evidenceOf(ctx, templateId) : undefined,
    requirementTemplates: expand.has('requirementTemplates') ? await requirementsOf(ctx, templateId) : undefined,
    controlsUsingTemplate: expand.has('controlsUsingTemplate') ? await controlsOf(ctx, templateId) : undefined,
  }
}

async function testsOf({ db }: PlatformContext, templateId: number): Promise<TestTemplate[]> {
  return db
    .selectFrom('template_tests as mapped')
    .innerJoin('test_templates as test', 'test.id', 'mapped.test_template_id')
    .select(['test.id', 'test.name', 'test.description', 'test.rating', 'test.source'])
    .where('mapped.control_template_id', '=', templateId)
    .orderBy('test.id')
    .execute()
}

async function policiesOf({ db }: PlatformContext, templateId: number): Promise<PolicyTemplate[]> {
  return db
    .selectFrom('template_policies as mapped')
    .innerJoin('policy_templates as policy', 'policy.id', 'mapped.policy_template_id')
    .select(['policy.id', 'policy.name', 'policy.description'])
    .where('mapped.control_template_id', '=', templateId)
    .orderBy('policy.id')
    .execute()
}

async function evidenceOf({ db }: PlatformContext, templateId: number): Promise<EvidenceTemplate[]> {
  return db
    .selectFrom('template_evidence as mapped')
    .innerJoin('evidence_templates as evidence', 'evidence.id', 'mapped.evidence_template_id')
    .select(['evidence.id', 'evidence.code as evidenceTemplateCode', 'evidence.name'])
    .select([
      'evidence.request_description as requestDescription',
      'evidence.implementation_guidance as implementationGuidance',
    ])
    .where('mapped.control_template_id', '=', templateId)
    .orderBy('evidence.id')
    .execute()
}

async function requirementsOf({ db }: PlatformContext, templateId: number): Promise<RequirementTemplate[]> {
  const rows = await db
    .selectFrom('template_requirements as mapped')
    .innerJoin('requirements', 'requirements.id', 'mapped.requirement_id')
    .innerJoin('frameworks', 'frameworks.id', 'requirements.framework_id')
    .selectAll('requirements')
    .select(['frameworks.slug', 'frameworks.name as framework_name'])
    .where('mapped.control_template_id', '=', templateId)
    .orderBy('requirements.id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    description: row.description,
    longDescription: row.long_description,
    additionalInfo: row.additional_info,
    additionalInfo2: row.additional_info_2,
    additionalInfo3: row.additional_info_3,
    framework: { slug: row.slug, name: row.framework_name },
  }))
}

async function controlsOf({ db, accountId }: PlatformContext, templateId: number): Promise<ControlOfTemplate[]> {
  return db
    .selectFrom('controls')
    .innerJoin('workspaces', 'workspaces.id', 'controls.workspace_id')
    .select(['controls.id as controlId', 'controls.code', 'workspaces.id as workspaceId'])
    .select('workspaces.name as workspaceName')
    .where('controls.account_id', '=', accountId)
    .where('controls.template_id', '=', templateId)
    .orderBy('controls.id')
    .execute()
}
