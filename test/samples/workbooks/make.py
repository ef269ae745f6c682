"""Makes the workbooks of this folder: python3 make.py. See README.md."""

import datetime as dt
import subprocess

import openpyxl
import xlsxwriter

HEADER = ['Employee ID', 'First Name', 'Last Name', 'Start Date', 'Termination Date', 'Badge Issued', 'Shift', 'Manager',
          'Salary', 'Card', 'Department', 'Note']
ROWS = [
    (4, [123, 'Ana María', 'Müller', dt.date(2019, 3, 1), None, dt.datetime(2026, 1, 5, 17, 30), dt.time(9), True, 1234.5,
         123456789012345, 'Sales', 'first line\nsecond line']),
    (5, [7, 'Ben', "O'Neill, Jr.", dt.date(2021, 12, 31), dt.date(2026, 10, 31), dt.datetime(2026, 1, 5), dt.time(18), False,
         0.1, 1e14, 2, ' padded "quoted" ']),
    (7, [99999, '山田', '太郎', dt.date(1999, 2, 28), None, None, None, True, -12.25, 411111111111111, None, None]),
]
FORMATS = {0: '00000', 3: 'dd/mm/yyyy', 4: 'yyyy-mm-dd', 5: 'd. mmmm yyyy hh:mm', 6: 'hh:mm', 8: '#,##0.00', 9: '0'}


FORMULA_HEADER = ['Employee ID', 'Status', 'Termination Date']


def with_openpyxl(name, is_from_1904):
    book = openpyxl.Workbook()
    if is_from_1904:
        book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    sheet = book.active
    sheet['A1'] = 'People report'
    sheet.merge_cells('A1:F1')
    for column, text in enumerate(HEADER):
        sheet.cell(3, column + 1, text)
    for line, values in ROWS:
        for column, value in enumerate(values):
            if value is not None:
                cell = sheet.cell(line, column + 1, value)
                cell.number_format = FORMATS.get(column, 'General')
    sheet.row_dimensions[5].hidden = True
    sheet.column_dimensions['C'].hidden = True
    book.save(name)


def with_xlsxwriter(name, is_from_1904, is_streamed):
    """Streamed: rows with inline strings, and no merged cells."""
    book = xlsxwriter.Workbook(name, {'date_1904': is_from_1904, 'constant_memory': is_streamed})
    sheet = book.add_worksheet('People')
    formats = {column: book.add_format({'num_format': code}) for column, code in FORMATS.items()}
    bold = book.add_format({'bold': True})
    if is_streamed:
        sheet.write(0, 0, 'People report')
    else:
        sheet.merge_range('A1:F1', 'People report', bold)
    sheet.set_column(2, 2, None, None, {'hidden': True})
    for column, text in enumerate(HEADER):
        sheet.write(2, column, text)
    for line, values in ROWS:
        sheet.set_row(line - 1, None, None, {'hidden': line == 5})
        for column, value in enumerate(values):
            at = (line - 1, column)
            if value == 'Sales':
                sheet.write_formula(*at, '="Sa"&"les"', None, value)
            elif value == 'Ana María':
                sheet.write_rich_string(*at, bold, 'Ana', ' María')
            elif isinstance(value, (dt.date, dt.time)):
                sheet.write_datetime(*at, value, formats[column])
            elif value is not None:
                sheet.write(*at, value, formats.get(column))
    book.close()


def with_libreoffice(name, ending, options=''):
    kind = f'{ending}:{options}' if options else ending
    subprocess.run(['soffice', '--headless', '--convert-to', kind, '--outdir', 'made', name], check=True)


def formulas_with_openpyxl(name):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [FORMULA_HEADER, [1, 'active', None], [2, 'gone', '=DATE(2026,10,31)']]:
        sheet.append(row)
    sheet['C3'].number_format = 'yyyy-mm-dd'
    book.save(name)


def formulas_with_xlsxwriter(name):
    book = xlsxwriter.Workbook(name)
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, FORMULA_HEADER)
    sheet.write(1, 0, 1)
    sheet.write_formula(1, 1, '="gone"')
    sheet.write_formula(1, 2, '=DATE(2026,10,31)', book.add_format({'num_format': 'yyyy-mm-dd'}))
    book.close()


with_openpyxl('openpyxl.xlsx', False)
with_openpyxl('openpyxl-1904.xlsx', True)
formulas_with_openpyxl('openpyxl-formulas.xlsx')
formulas_with_xlsxwriter('xlsxwriter-formulas.xlsx')
with_xlsxwriter('xlsxwriter.xlsx', False, False)
with_xlsxwriter('xlsxwriter-1904-inline.xlsx', True, True)
for source, name in [('xlsxwriter.xlsx', 'libreoffice.xlsx'), ('xlsxwriter-1904-inline.xlsx', 'libreoffice-1904.xlsx')]:
    with_libreoffice(source, 'xlsx')
    subprocess.run(['mv', f'made/{source}', name], check=True)
with_libreoffice('xlsxwriter.xlsx', 'xls', 'MS Excel 97')
subprocess.run(['mv', 'made/xlsxwriter.xls', 'libreoffice.xls'], check=True)
with_libreoffice('xlsxwriter.xlsx', 'ods')
subprocess.run(['mv', 'made/xlsxwriter.ods', 'libreoffice.ods'], check=True)
subprocess.run(['rmdir', 'made'], check=True)
