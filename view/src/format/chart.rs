//! Charts of documents and presentations of Office Open XML: titles, and the names of series and categories that a chart shows.
//!
//! A workbook has these names in its cells, so of its charts only titles are read.

use crate::format::docx::Story;
use crate::format::package::{Package, Relations};
use crate::format::xml::{Tag, XmlVisitor};
use crate::outcome::Reason;
use crate::text::Text;

/// Elements that contain names, as the chart keeps them beside the data or instead of them.
const LISTS: [&str; 5] = ["tx", "strCache", "strLit", "multiLvlStrCache", "strDim"];

impl Package<'_> {
    /// Reads the text of the charts of a part that has these relations.
    pub(super) fn read_charts(&mut self, relations: &Relations, text: &mut dyn Text) -> Result<(), Reason> {
        for part in ["chart", "chartEx"].iter().flat_map(|role| relations.with_role(role)) {
            let mut chart = Chart { story: Story::new(text), lists: 0, name: false, categories: Categories::Expected };
            self.walk(&part, &mut chart)?;
            chart.story.end_paragraph()?;
        }
        Ok(())
    }
}

struct Chart<'t> {
    story: Story<'t>,
    /// Number of open elements that contain names.
    lists: usize,
    /// Within a name.
    name: bool,
    categories: Categories,
}

/// All series have the categories, which are shown once.
#[derive(PartialEq)]
enum Categories {
    Expected,
    Shown,
    Read,
    Repeated,
}

impl XmlVisitor for Chart<'_> {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        match tag.name() {
            "cat" if self.categories == Categories::Expected => self.categories = Categories::Shown,
            "cat" => self.categories = Categories::Repeated,
            list if LISTS.contains(&list) => self.lists += 1,
            "v" => self.name = self.lists > 0 && self.categories != Categories::Repeated,
            // Newer charts have them so. In others it contains the element above.
            "pt" if tag.full_name().starts_with("cx:") => self.name = self.lists > 0,
            _ => return self.story.start(tag),
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), Reason> {
        match name {
            "cat" => self.categories = Categories::Read,
            list if LISTS.contains(&list) => {
                self.lists = self.lists.saturating_sub(1);
                self.story.end_paragraph()?;
            }
            "v" | "pt" if self.name => {
                self.name = false;
                self.story.push(" ")?;
            }
            _ => return self.story.end(name),
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Reason> {
        if self.name { self.story.push(text) } else { self.story.text(text) }
    }
}

#[cfg(test)]
mod tests {
    use crate::format::tests::zip_of;
    use crate::kind::Kind;
    use crate::text::tests::text_of;

    /// A presentation with this chart.
    fn text_with(chart: &[u8]) -> String {
        let document = zip_of(&[
            ("[Content_Types].xml", b""),
            ("ppt/presentation.xml", b"<p:presentation><p:sldIdLst><p:sldId r:id='a'/></p:sldIdLst></p:presentation>"),
            (
                "ppt/_rels/presentation.xml.rels",
                b"<Relationships><Relationship Id='a' Type='x/slide' Target='slides/s.xml'/></Relationships>",
            ),
            ("ppt/slides/s.xml", b"<p:sld/>"),
            (
                "ppt/slides/_rels/s.xml.rels",
                b"<Relationships><Relationship Id='c' Type='x/chart' Target='../charts/c.xml'/></Relationships>",
            ),
            ("ppt/charts/c.xml", chart),
        ]);
        text_of(Kind::Pptx, &document).unwrap()
    }

    #[test]
    fn a_chart_shows_its_titles_and_the_names_of_series_and_once_those_of_categories_and_no_numbers() {
        let cache = |names: &[&str]| {
            let points: String = names.iter().map(|name| format!("<c:pt idx='0'><c:v>{name}</c:v></c:pt>")).collect();
            format!("<c:strRef><c:f>Sheet1!$A$1</c:f><c:strCache><c:ptCount val='2'/>{points}</c:strCache></c:strRef>")
        };
        let series = |name: &str| {
            let categories = cache(&["North sea", "South"]);
            format!(
                "<c:ser><c:tx>{}</c:tx><c:cat>{categories}</c:cat><c:val><c:numRef><c:numCache><c:formatCode>General\
                 </c:formatCode><c:pt idx='0'><c:v>4711</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>",
                cache(&[name])
            )
        };
        let chart = format!(
            "<c:chartSpace><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales of ships</a:t></a:r></a:p></c:rich></c:tx></c:title>\
             {}{}<c:ser><c:tx><c:v>By hand</c:v></c:tx></c:ser></c:chartSpace>",
            series("Last year"),
            series("This year")
        );
        assert_eq!(text_with(chart.as_bytes()), "Sales of ships\nLast year\nNorth sea South\nThis year\nBy hand");
    }

    #[test]
    fn newer_charts_have_names_too() {
        let chart = b"<cx:chartSpace><cx:data><cx:strDim type='cat'><cx:f>A</cx:f><cx:lvl><cx:pt idx='0'>Leads</cx:pt><cx:pt idx='1'>Won\
            </cx:pt></cx:lvl></cx:strDim><cx:numDim><cx:lvl><cx:pt idx='0'>500</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartSpace>";
        assert_eq!(text_with(chart), "Leads Won");
    }
}
