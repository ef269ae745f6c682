import type { ColumnType, Generated } from 'kysely'
import type { PolicyScope } from '../../contract/platform/assigned-policies.ts'
import type { FrameworkTag } from '../../contract/platform/common.ts'
import type { ControlCategory, ControlDomain, TrustServiceCriterion } from '../../contract/platform/control-classes.ts'
import type { RenewalSchedule } from '../../contract/platform/controls.ts'
import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import type { Instant, ListColumns, OptionalInstant, Timestamps } from './columns.ts'

/** The catalogue, which belongs to no account, and the controls of workspaces with their proofs. */
export type ControlSchema = {
  frameworks: Timestamps & {
    id: Generated<number>
    tag: FrameworkTag
    slug: string
    name: string
    pill: string
    description: string
  }
  requirements: Timestamps & {
    id: Generated<number>
    framework_id: number
    name: string
    description: string
    long_description: string | null
    additional_info: string | null
    additional_info_2: string | null
    additional_info_3: string | null
    external_id: string | null
  }
  test_templates: {
    id: Generated<number>
    name: string
    description: string | null
    rating: string
    source: string
  }
  policy_templates: { id: Generated<number>; name: string; description: string }
  evidence_templates: {
    id: Generated<number>
    code: string
    name: string
    request_description: string | null
    implementation_guidance: string | null
  }
  risk_templates: { id: Generated<number>; code: string; name: string; description: string }
  control_templates: ListColumns & {
    id: Generated<number>
    code: string
    control_number: number
    name: string
    description: string | null
    question: string | null
    activity: string | null
    domain: ControlDomain | null
    category: ControlCategory | null
    topics: TrustServiceCriterion[]
  }
  template_tests: { control_template_id: number; test_template_id: number }
  template_policies: { control_template_id: number; policy_template_id: number }
  template_evidence: { control_template_id: number; evidence_template_id: number }
  template_risks: { control_template_id: number; risk_template_id: number }
  template_requirements: { control_template_id: number; requirement_id: number }
  workspace_frameworks: { workspace_id: number; framework_id: number; enabled_at: Instant }
  policies: Timestamps & {
    id: Generated<number>
    account_id: number
    template_id: number | null
    name: string
    description: string
    assigned_to: Generated<PolicyScope>
    employment_statuses: Generated<EmploymentStatus[] | null>
  }
  policy_groups: { policy_id: number; group_id: number }
  tests: Timestamps & {
    id: Generated<number>
    workspace_id: number
    template_id: number | null
    name: string
    status: 'PASSED' | 'FAILED'
    is_monitored: boolean
  }
  evidence: Timestamps & {
    id: Generated<number>
    workspace_id: number
    template_id: number | null
    name: string
    kind: 'REPORT' | 'EXTERNAL'
    /** The last day on which it is valid. */
    valid_until: ColumnType<string | null>
    /** Whether it is a file that was uploaded with a control. Names of other evidence are unique in the workspace. */
    is_uploaded: Generated<boolean>
  }
  evidence_files: {
    evidence_id: number
    filename: string
    media_type: string
    description: string | null
    created_on: ColumnType<string>
    renewal: RenewalSchedule
    content: Buffer
  }
  controls: ListColumns & {
    id: Generated<number>
    account_id: number
    workspace_id: number
    template_id: number | null
    code: string
    name: string
    slug: string | null
    description: string | null
    question: string | null
    activity: string | null
    archived_at: OptionalInstant
    rationale: string | null
    is_enabled: boolean
    ticket_status: 'IN_PROGRESS' | 'ARCHIVED' | null
  }
  control_policies: { control_id: number; policy_id: number }
  control_tests: { control_id: number; test_id: number }
  control_evidence: { control_id: number; evidence_id: number }
  control_requirements: { control_id: number; requirement_id: number }
  control_owners: { control_id: number; user_id: number; created_at: Instant }
  control_notes: ListColumns & {
    id: Generated<number>
    uuid: Generated<string>
    control_id: number
    owner_id: number
    comment: string
  }
}
