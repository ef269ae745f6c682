import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import {
  isObjectBindingPattern,
  isParameterDeclaration,
  isParenthesizedExpression,
  isSpreadAssignment,
  isTypeLiteralNode,
} from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'
import type { Row } from './figures.ts'
import { quantile } from './quantile.ts'

/** Sizes of the parts of the source in lines, and counts of what makes code hard to follow. */
type House = {
  readonly sourceLines: number
  readonly testLines: number
  readonly files: Sizes
  readonly functions: Sizes & { readonly above80: number; readonly longest: readonly string[] }
  /** Pairs of folders that import each other. */
  readonly mutualRooms: readonly string[]
  /** Parameters written as a pattern plus a literal type. */
  readonly patternParameters: number
  /** Spreads of something in parentheses, as in `...(a && { b })`. */
  readonly parenthesisedSpreads: number
}
type Sizes = { readonly median: number; readonly p90: number; readonly most: number }

const functionKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
])

/** The figures of checkouts side by side; of this checkout if none is named. */
export function houseRows(roots: readonly string[]): Row[] {
  const checkouts =
    roots.length > 0 ? roots.map((root) => resolve(root)) : [fileURLToPath(new URL('../../', import.meta.url))]
  const measured = checkouts.map(measureHouse)
  return measured.flatMap(({ files, functions, ...counts }, at) => [
    { checkout: at + 1, what: 'lines of source', figure: counts.sourceLines },
    { checkout: at + 1, what: 'lines of tests', figure: counts.testLines },
    { checkout: at + 1, what: 'files: median, p90, longest', figure: sizeText(files) },
    { checkout: at + 1, what: 'functions: median, p90, longest', figure: sizeText(functions) },
    { checkout: at + 1, what: 'functions above 80 lines', figure: functions.above80 },
    ...functions.longest.map((longest) => ({ checkout: at + 1, what: 'a long function', figure: longest })),
    { checkout: at + 1, what: 'rooms that import each other', figure: counts.mutualRooms.length },
    { checkout: at + 1, what: 'parameters as pattern and literal type', figure: counts.patternParameters },
    { checkout: at + 1, what: 'parenthesised spreads', figure: counts.parenthesisedSpreads },
  ])
}

function sizeText({ median, p90, most }: Sizes): string {
  return `${median}, ${p90}, ${most}`
}

function measureHouse(root: string): House {
  const api = new API({ cwd: root })
  try {
    const project = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') }).getProjects()[0]
    if (!project) throw new Error('no project')
    const ours = (folder: string) =>
      project.program
        .getSourceFileNames()
        .filter((name) => name.startsWith(join(root, folder, '/')))
        .flatMap((name) => project.program.getSourceFile(name) ?? [])
    const source = ours('src')
    const parts = source.map((file) => partsOf(file, root))
    const sizes = source.map(({ text }) => linesOf(text))
    const functions = parts.flatMap((part) => part.functions)
    const lengths = functions.map(({ lines }) => lines)
    return {
      sourceLines: sum(sizes),
      testLines: sum(ours('test').map(({ text }) => linesOf(text))),
      files: sizesOf(sizes),
      functions: {
        ...sizesOf(lengths),
        above80: lengths.filter((lines) => lines > 80).length,
        longest: functions
          .toSorted((a, b) => b.lines - a.lines)
          .slice(0, 5)
          .map(({ name, lines }) => `${name} ${lines}`),
      },
      mutualRooms: mutualRooms(source, root),
      patternParameters: sum(parts.map((part) => part.patternParameters)),
      parenthesisedSpreads: sum(parts.map((part) => part.parenthesisedSpreads)),
    }
  } finally {
    api.close()
  }
}

type Parts = {
  readonly functions: { readonly name: string; readonly lines: number }[]
  patternParameters: number
  parenthesisedSpreads: number
}

function partsOf(file: SourceFile, root: string): Parts {
  const parts: Parts = { functions: [], patternParameters: 0, parenthesisedSpreads: 0 }
  visit(file)
  return parts

  function visit(node: Node): void {
    if (functionKinds.has(node.kind)) {
      const name = `${relative(root, file.fileName)}:${linesOf(file.text.slice(0, node.getStart(file)))}`
      parts.functions.push({ name, lines: linesOf(node.getText(file)) })
    }
    if (isParameterDeclaration(node) && isObjectBindingPattern(node.name) && node.type && isTypeLiteralNode(node.type))
      parts.patternParameters++
    if (isSpreadAssignment(node) && isParenthesizedExpression(node.expression)) parts.parenthesisedSpreads++
    node.forEachChild(visit)
  }
}

function mutualRooms(files: readonly SourceFile[], root: string): string[] {
  const pairs = new Set(
    files.flatMap(({ fileName, text }) =>
      [...text.matchAll(/(?:\bfrom\s*|\bimport\(\s*)'(\.[^']+)'/g)].flatMap(([, specifier = '']) => {
        const [from, to] = [dirname(fileName), dirname(join(dirname(fileName), specifier))]
        return from === to || from === join(root, 'src') ? [] : [`${relative(root, from)} ↔ ${relative(root, to)}`]
      }),
    ),
  )
  return [...pairs].filter((pair) => {
    const [from = '', to = ''] = pair.split(' ↔ ')
    return from < to && pairs.has(`${to} ↔ ${from}`)
  })
}

function sizesOf(lines: readonly number[]): Sizes {
  const sorted = lines.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), p90: quantile(sorted, 0.9), most: sorted.at(-1) ?? 0 }
}

function linesOf(text: string): number {
  return text.trimEnd().split('\n').length
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
